import TestSupport

@testable import JobQueue

/// The delivery and loss of messages.
extension Simulation {
    /// Delivers a random message, or loses it.
    mutating func deliver() -> String? {
        guard !wire.isEmpty else { return nil }
        let (toTable, process, message) = wire.remove(at: Int.random(in: 0..<wire.count, using: &random))
        let isLost = random.chance(10)
        if toTable { return atTable(process, message, isReplyLost: isLost) }
        // A frozen process reads its socket when it runs again.
        if processes[process].isFrozen {
            wire.append((toTable, process, message))
            return nil
        }
        return atProcess(process, message)
    }

    private mutating func atTable(_ index: Int, _ message: Message, isReplyLost: Bool) -> String? {
        let worker = processes[index].id
        switch message {
        case .claim(let number, let generation, let limit, let sentAt):
            let jobs = table.claim(worker: worker, limit: limit)
            for job in jobs {
                guard let claim = table.jobs[job.id]?.claim else { continue }
                lives[claim] = table.life
                processes[index].claims[job] = claim
            }
            wire.append(
                (
                    false, index,
                    isReplyLost
                        ? .claimFailed(number: number)
                        : .claimed(
                            number: number,
                            generation: generation,
                            deadline: sentAt + timeout,
                            jobs: jobs
                        )
                )
            )
        case .beat(let sent):
            let answer = table.beat(
                worker: worker,
                jobs: sent.jobs,
                releasesUpTo: sent.releasesUpTo,
                now: serverTime,
                lifetime: lifetime
            )
            if isReplyLost {
                processes[index].isBeating = false
            } else {
                wire.append((false, index, .beaten(sent, answer)))
            }
        case .finish(let job, let claim, let verdict):
            let current = table.jobs[job.id]?.claim
            let landed = write(job, verdict)
            if landed, verdict != "release" {
                if current != claim { return "a write of job \(job.id) landed under another claim" }
                if lives[claim] != table.life { return "a write of job \(job.id) landed though others may be gone" }
            }
            if landed, !["release", "snooze", "park"].contains(verdict) { counted[job.id, default: 0] += 1 }
            // After a lost reply the process repeats itself, and the fence must refuse the repetition.
            if !isReplyLost { wire.append((false, index, .written(job))) }
        case .claimed, .claimFailed, .beaten, .written:
            break
        }
        return nil
    }

    private mutating func write(_ job: JobLease, _ verdict: String) -> Bool {
        switch verdict {
        case "completed", "discarded": table.finish(job, verdict)
        case "retry", "snooze":
            table.giveBack(job, waits: true, givesAttemptBack: verdict == "snooze") || table.finish(job, "cancelled")
        case "park": table.park(job) || table.finish(job, "cancelled")
        default: table.release(job)
        }
    }

    private mutating func atProcess(_ index: Int, _ message: Message) -> String? {
        guard !processes[index].isDead else { return nil }
        // A process that was away checks the clock before anything else.
        carryOut(index, processes[index].book.tick(now: instant(now)))
        switch message {
        case .claimed(let number, let generation, let deadline, let jobs):
            let mayRun = processes[index].book.claimReturned(
                number,
                jobs.map { (job: $0, deadline: instant(deadline)) },
                sentIn: generation,
                now: instant(now)
            )
            // A claim that arrives after its deadline is stopped before anything begins.
            guard mayRun, now < deadline, processes[index].life == table.life else { break }
            for job in jobs {
                guard let row = table.jobs[job.id], row.lease == job.lease, row.state == "running" else {
                    return "job \(job.id) begins under lease \(job.lease), which does not hold"
                }
            }
        case .claimFailed(let number):
            _ = processes[index].book.claimReturned(
                number,
                [],
                sentIn: processes[index].book.generation,
                now: instant(now)
            )
        case .beaten(let sent, let answer):
            processes[index].isBeating = false
            guard let answer else {
                processes[index].isRegistered = false
                carryOut(index, processes[index].book.disowned(sent))
                return nil
            }
            carryOut(
                index,
                processes[index].book.answered(
                    sent,
                    held: answer.held,
                    cancelled: answer.cancelled,
                    lastLease: answer.lastLease
                )
            )
        case .written(let job):
            processes[index].book.settled(job)
            processes[index].outcomes[job] = nil
        case .claim, .beat, .finish:
            break
        }
        return nil
    }
}
