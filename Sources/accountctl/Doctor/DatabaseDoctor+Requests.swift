import AccountLifecycle
import JobQueue
import Postgres
import Terminal

extension DatabaseDoctor {
    func requests(on connection: isolated Connection) throws -> [DoctorFinding] {
        let states = try OpenRequests.byState(on: connection)
        return try brakes(on: connection)
            + states.flatMap { requests in
                [
                    Self.deadline(requests), Self.failing(requests), Self.waiting(requests),
                    Self.waitingForApple(requests), Self.held(requests),
                ].compactMap(\.self)
            }
    }

    /// Requests whose legal deadline is near or has passed.
    private static func deadline(_ requests: OpenRequests) -> DoctorFinding? {
        guard requests.isUrgent, let time = requests.left else { return nil }
        let left =
            time < .zero ? "passed \(Wording.length(.zero - time)) ago" : "is in \(Wording.length(time))"
        return DoctorFinding(
            .error,
            "deletion.deadline",
            "a request in the state \(requests.state) whose legal deadline \(left)",
            why: "An account must be erased within a calendar month of the request.",
            todo: "accountctl deletion list shows it; accountctl deletion show says what ends its state."
        )
    }

    /// Requests that fail repeatedly.
    private static func failing(_ requests: OpenRequests) -> DoctorFinding? {
        guard let failing = requests.failing else { return nil }
        let (count, verb) = (Wording.count(failing.count, "request"), failing.count == 1 ? "fails" : "fail")
        return DoctorFinding(
            // A transient fault is over within an hour.
            failing.longest > .seconds(3600) ? .error : .warning,
            "deletion.failing",
            "\(count) in the state \(requests.state) \(verb) again and again, the first for "
                + "\(Wording.length(failing.longest)): \(Wording.list(failing.situations))",
            why: "Each is tried again within the hour. An account that is locked out may be erased in part by now.",
            todo: todo(requests.state) + " Once the cause is gone, this tries all of them at once: accountctl jobs "
                + "retry --kind \(StandingBrakes.kindName) --state scheduled --limit \(JobFilter.limits.upperBound) --yes"
        )
    }

    /// How many causes are named; a list of all requests has the others.
    private static let namedCauses = 5

    /// Requests that need an operator.
    private static func waiting(_ requests: OpenRequests) -> DoctorFinding? {
        let state = requests.state
        guard state == "residue" || state == "blocked" else { return nil }
        return DoctorFinding(
            .error,
            "deletion.\(state)",
            Wording.count(requests.count, "request") + " in the state \(state)"
                + (requests.causes.isEmpty ? "" : ": " + Wording.list(requests.causes, atMost: namedCauses)),
            why: "They wait for somebody to act. Once the cause is gone, they continue by themselves and erase the "
                + "accounts: within "
                + (state == "residue" ? "the hour." : "five minutes."),
            todo: todo(state)
        )
    }

    /// Requests that wait for Apple: a notice at first, a warning once they have waited longer than an outage lasts.
    private static func waitingForApple(_ requests: OpenRequests) -> DoctorFinding? {
        guard let waited = requests.waitedForApple else { return nil }
        return DoctorFinding(
            waited > OpenRequests.patienceWithApple ? .warning : .notice,
            "deletion.waiting_for_apple",
            "\(Wording.count(requests.count, "request waits", "requests wait")) for Apple, the first for "
                + Wording.length(waited),
            why:
                "Meanwhile, nothing of these accounts is erased. They continue within five minutes once Apple accepts "
                + "the keys, and without Apple after apple.give_up.",
            todo: "accountctl apple test says whether Apple accepts the keys. " + todo(requests.state)
        )
    }

    /// Requests under a legal hold, during which their legal deadlines do not count.
    private static func held(_ requests: OpenRequests) -> DoctorFinding? {
        let count = requests.underHold
        guard count > 0 else { return nil }
        return DoctorFinding(
            .notice,
            "deletion.legal_hold",
            "\(Wording.count(count, "request")) in the state \(requests.state) \(count == 1 ? "is" : "are") under a "
                + "legal hold",
            why: "No hold ends by itself, and until it is released the legal deadline is not watched.",
            todo: "accountctl audit list --action deletion.hold says who placed them, and why; accountctl deletion "
                + "show names the command that ends one."
        )
    }

    private static func todo(_ state: String) -> String {
        "accountctl deletion list --state \(state) names them; accountctl deletion show says what ends it."
    }

    private func brakes(on connection: isolated Connection) throws -> [DoctorFinding] {
        let stopped = try StoppedDeletions.read(on: connection)
        let (paused, waiting) = (stopped.paused, stopped.overCeiling)
        var findings: [DoctorFinding] = []
        if let general = stopped.general {
            findings.append(
                DoctorFinding(
                    // A pause of an hour is deliberate; one of more than a day may have been forgotten.
                    general.length > .seconds(86_400) ? .error : .warning,
                    "deletion.paused",
                    "every deletion is paused, for \(Wording.length(general.length)), by \(SafeText.line(general.by))"
                        + (general.reason.map { ": \(SafeText.line($0))" } ?? ""),
                    why: "No account is erased, but all legal deadlines keep running.",
                    todo: general.isOfWorker
                        ? "After a restore, repeat the list of erasures first: accountctl deletion replay FILE. Keep a "
                            + "clone paused until it has no data of real people to erase. Then, or if the database was "
                            + "moved, resume with: accountctl deletion resume --all"
                        : "accountctl audit list --action deletion.pause says why; resume with: accountctl deletion "
                            + "resume --all"
                )
            )
        }
        if paused > 0, let longest = stopped.longest {
            findings.append(
                DoctorFinding(
                    .warning,
                    "deletion.paused",
                    "\(Wording.count(paused, "request is", "requests are")) paused, the first for "
                        + Wording.length(longest),
                    why: "They do not continue by themselves, but their legal deadlines keep running.",
                    todo: "accountctl deletion list --paused shows them; resume with: accountctl deletion resume "
                        + "REQUEST"
                )
            )
        }
        if waiting > 0 {
            findings.append(
                DoctorFinding(
                    .warning,
                    "deletion.ceiling",
                    "\(Wording.count(waiting, "request waits", "requests wait")) for the hourly ceiling",
                    why: "No more accounts are locked out per hour: many more requests than usual may be a mistake.",
                    todo:
                        "If the requests are intended, they continue by themselves; a higher deletion.hourly_ceiling "
                        + "lets more through once workers are restarted. Otherwise: accountctl deletion pause --all"
                )
            )
        }
        return findings
    }
}
