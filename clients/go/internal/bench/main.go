// Bench measures the worker: tasks a second of its own processor time, and the time from a submission to
// the handler. Of a cluster that runs: bench http://127.0.0.1:8080 TOKEN-FILE [N]
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"segq.example/segq"
)

func cpu() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		log.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

func main() {
	token, err := os.ReadFile(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	c := &segq.Client{Routers: []string{os.Args[1]}, Token: strings.TrimSpace(string(token))}
	n := 50000
	if len(os.Args) > 3 {
		n, _ = strconv.Atoi(os.Args[3])
	}
	queue := fmt.Sprintf("bench-%d", os.Getpid())
	rows := make([]segq.Submission, n)
	for i := range rows {
		rows[i].Payload = i
	}
	began, before := time.Now(), cpu()
	if _, err := c.SubmitMany(context.Background(), queue, rows); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("submit    %8.0f a second, %8.0f a second of processor time\n",
		float64(n)/time.Since(began).Seconds(), float64(n)/(cpu()-before).Seconds())

	for _, slots := range []int{8, 64, 512} {
		some := int64(n / 4) // more are taken than that
		ctx, stop := context.WithCancel(context.Background())
		var done int64
		began, before = time.Now(), cpu()
		var took, used time.Duration
		err := c.Run(ctx, queue, func(context.Context, *segq.Job) (any, error) {
			if atomic.AddInt64(&done, 1) == some {
				took, used = time.Since(began), cpu()-before
				stop()
			}
			return nil, nil
		}, segq.Concurrency(slots), segq.TakeWait(100*time.Millisecond))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("work %4d %8.0f a second, %8.0f a second of processor time\n", slots, float64(some)/took.Seconds(), float64(some)/used.Seconds())
	}

	ctx, stop := context.WithCancel(context.Background())
	came := make(chan time.Time, 1)
	ended := make(chan error, 1)
	go func() {
		ended <- c.Run(ctx, queue+"/late", func(context.Context, *segq.Job) (any, error) { came <- time.Now(); return nil, nil })
	}()
	var late []time.Duration
	for i := 0; i < 500; i++ {
		at := time.Now()
		if _, err := c.Submit(ctx, queue+"/late", segq.Submission{Payload: i}); err != nil {
			log.Fatal(err)
		}
		late = append(late, (<-came).Sub(at))
	}
	stop()
	<-ended
	sort.Slice(late, func(i, j int) bool { return late[i] < late[j] })
	fmt.Printf("submit to handler: p50 %v, p99 %v\n", late[len(late)/2], late[len(late)*99/100])
}
