package segq_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os/signal"
	"syscall"
	"time"

	"segq.example/segq"
)

var (
	ctx    = context.Background()
	client = &segq.Client{Routers: []string{"https://q1.example", "https://q2.example"}, Token: "s3cret"}
)

// A line of people: save the token, and the place goes on from it in the next run.
func ExampleLine_Wait() {
	line := client.Line("login")
	line.Token = "" // of an earlier run
	ticket, err := line.Wait(ctx, func(t *segq.Ticket) {
		if t.Position != nil {
			fmt.Println(*t.Position, line.Trouble()) // save t.Token
		}
	})
	switch {
	case errors.Is(err, segq.ErrTicketNoShow):
		fmt.Println("your turn has come, and gone")
	case errors.Is(err, segq.ErrTicketGone):
		fmt.Println("join again")
	case err != nil:
		log.Fatal(err)
	default:
		fmt.Println(ticket.Pass)
	}
}

// A site behind the waiting room.
func ExampleGate_Handler() {
	mux := http.NewServeMux()
	mux.HandleFunc("/cart", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "hello", segq.AdmissionOf(r.Context()).Subject())
	})
	mux.HandleFunc("/bought", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Segq-Command", "release") // the next one may come in
	})
	log.Fatal(http.ListenAndServe(":9000", client.Gate("login").Handler(mux)))
}

// A task, and its result.
func ExampleClient_Submit() {
	task, err := client.Submit(ctx, "images", segq.Submission{
		Payload: map[string]string{"prompt": "a cat"},
		Name:    "order-17", // once more is the same task
		Key:     "tenant7",  // limits and fair shares go by it
		Delay:   time.Minute,
		Unique:  &segq.Unique{Key: "cart7", OnConflict: "reject"},
	})
	if errors.Is(err, segq.ErrConflict) {
		return // there is one
	}
	within, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	task, err = client.Wait(within, task.Token)
	var failed *segq.TaskError
	if errors.As(err, &failed) {
		fmt.Println("it failed:", failed.Reason())
		return
	}
	var image struct{ URL string }
	if err := task.Decode(&image); err != nil {
		log.Fatal(err)
	}
	fmt.Println(image.URL)
}

// A worker of two queues that ends with the program's context.
func ExampleClient_Run() {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM)
	defer stop()
	err := client.Run(ctx, "images", func(ctx context.Context, job *segq.Job) (any, error) {
		var in struct{ Prompt string }
		if err := job.Decode(&in); err != nil {
			return nil, err
		}
		if in.Prompt == "" {
			return nil, segq.GiveBack("no prompt yet", 5*time.Minute)
		}
		job.Progress(segq.Progress{Percent: segq.Ptr(50), Text: "half of it"})
		return map[string]string{"url": in.Prompt + ".png"}, nil
	}, segq.Queues("previews"), segq.Concurrency(100), segq.NoSignals(), segq.OnEvent(func(e segq.WorkerEvent) {
		fmt.Println(e.Name, e.Took)
	}))
	if err != nil {
		log.Fatal(err)
	}
}

// Calls that segq sends.
func ExampleWebhook_Verify() {
	hook, err := segq.NewWebhook("whsec_bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3", "whsec_b2xkb2xkb2xkb2xkb2xkb2xkb2xkb2xk")
	if err != nil {
		log.Fatal(err)
	}
	_, err = hook.Verify(http.Header{"Webhook-Id": {"id7"}, "Webhook-Timestamp": {"17"}, "Webhook-Signature": {"v1,x"}}, nil)
	fmt.Println(err)
	// Output: segq: too old, or one of the two clocks is wrong
}
