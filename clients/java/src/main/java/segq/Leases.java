package segq;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** Extends the leases of what runs: a request for all of a queue that are at a third of theirs. */
final class Leases {
    private static final int BATCH = 1000;
    private final Worker worker;

    Leases(Worker worker) {
        this.worker = worker;
    }

    void run() {
        while (!isOver()) {
            Settler.sleep(Math.min(500, Math.max(10, worker.lease.toMillis() / 8)));
            try {
                turn(System.nanoTime());
            } catch (RuntimeException e) { // whatever was answered: this thread goes on
                worker.say("trouble", null, e);
            }
        }
    }

    private boolean isOver() {
        worker.lock.lock();
        try {
            return worker.isOver();
        } finally {
            worker.lock.unlock();
        }
    }

    private void turn(long now) {
        Map<String, List<Job>> byQueue = new HashMap<>();
        for (Job j : worker.due(now)) {
            if (j.untilNs - now <= 0)
                worker.lose(j, Map.of("code", "lease_over"));
            else
                byQueue.computeIfAbsent(j.queue(), q -> new ArrayList<>()).add(j);
        }
        List<CompletableFuture<Void>> all = new ArrayList<>();
        byQueue.forEach((q, jobs) -> all.add(CompletableFuture.runAsync(() -> extend(q, jobs),
            byQueue.size() == 1 ? Runnable::run : r -> Worker.daemon(r, "segq-extend").start())));
        CompletableFuture.allOf(all.toArray(new CompletableFuture<?>[0])).join(); // one whose node is away delays no other's
    }

    private void extend(String queue, List<Job> jobs) {
        for (int i = 0; i < jobs.size(); i += BATCH)
            Settler.extend(worker, queue, jobs.subList(i, Math.min(jobs.size(), i + BATCH)));
    }
}
