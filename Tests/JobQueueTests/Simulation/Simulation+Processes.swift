import TestSupport

@testable import JobQueue

/// The actions of processes, in answer to messages or of their own accord.
extension Simulation {
    mutating func carryOut(_ index: Int, _ stops: [LeaseBook.Stop]) {
        for stop in stops {
            // Most handlers stop at once when they are cancelled.
            switch stop.reason {
            case .leaseLost: break
            case .deadline: if !random.chance(30) { end(index, stop.job, "retry") }
            case .cancelRequested: end(index, stop.job, "discarded")
            case .shutdown: end(index, stop.job, "release")
            }
        }
    }

    /// Each process takes its own overdue jobs; their attempts count.
    mutating func takeOverdue() {
        for process in processes where !process.isDead && !process.isFrozen && process.isRegistered {
            let overdue = process.book.overdue(by: .milliseconds(grace), now: instant(now))
            for id in table.takeOverdue(overdue.filter { $0.worker == process.id }) { counted[id, default: 0] += 1 }
        }
    }

    private mutating func end(_ index: Int, _ job: JobLease, _ verdict: String) {
        guard processes[index].book.handlerDone(job) != nil else { return }
        processes[index].outcomes[job] = verdict
        send(index, job, verdict)
    }

    /// A random process does something of its own accord.
    mutating func act() -> String? {
        let index = Int.random(in: 0..<processes.count, using: &random)
        guard !processes[index].isDead, !processes[index].isFrozen else { return nil }
        carryOut(index, processes[index].book.tick(now: instant(now)))
        if !processes[index].isRegistered {
            if !random.chance(20) { table.deregister(processes[index].id) }
            nextHost += 1
            processes[index].id = nextHost
            processes[index].life = table.life
            processes[index].isRegistered = true
            table.register(nextHost, now: serverTime, lifetime: lifetime)
            processes[index].book.registered(sentAt: instant(now))
            // Messages that were sent under the old registration reach nobody now.
            wire = wire.filter { !$0.toTable || $0.process != index || isFinish($0.message) }
            processes[index].isBeating = false
        }
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<3:
            guard processes[index].book.mayClaim(now: instant(now)) else { break }
            let number = processes[index].book.claimSent()
            let generation = processes[index].book.generation
            let limit = Int.random(in: 1...3, using: &random)
            wire.append((true, index, .claim(number: number, generation: generation, limit: limit, sentAt: now)))
        case 3..<6:
            guard !processes[index].isBeating else { break }
            let sent = processes[index].book.beat(now: instant(now))
            processes[index].isBeating = true
            wire.append((true, index, .beat(sent)))
        default:
            let running = processes[index].book.entries.filter(\.value.isRunning).keys
                .sorted { $0.lease < $1.lease }
            if let job = running.randomElement(using: &random) {
                let verdict = ["completed", "completed", "retry", "snooze", "park", "discarded"]
                    .randomElement(using: &random)
                end(index, job, verdict ?? "completed")
            } else if let (job, verdict) = processes[index].outcomes.sorted(by: { $0.key.lease < $1.key.lease })
                .randomElement(using: &random)
            {
                // No reply came: send the verdict again.
                send(index, job, verdict)
            }
        }
        return nil
    }

    private mutating func send(_ index: Int, _ job: JobLease, _ verdict: String) {
        guard let claim = processes[index].claims[job] else { return }
        wire.append((true, index, .finish(job, claim: claim, verdict: verdict)))
    }

    private func isFinish(_ message: Message) -> Bool {
        if case .finish = message { true } else { false }
    }
}
