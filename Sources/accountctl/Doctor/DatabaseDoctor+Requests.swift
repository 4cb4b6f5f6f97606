import AccountLifecycle
import Postgres
import Terminal

extension DatabaseDoctor {
    func requests(on connection: isolated Connection) throws -> [DoctorFinding] {
        var findings = try brakes(on: connection)
        for requests in try OpenRequests.byState(on: connection) {
            let (state, count) = (requests.state, requests.count)
            if requests.isUrgent {
                let left =
                    requests.left < .zero
                    ? "passed \(Wording.length(.zero - requests.left)) ago" : "is in \(Wording.length(requests.left))"
                findings.append(
                    DoctorFinding(
                        .error,
                        "deletion.deadline",
                        "a request in the state \(state) whose legal deadline \(left)",
                        why: "An account must be erased within a calendar month of the request.",
                        todo: "accountctl deletion list shows it; accountctl deletion show says what ends its state."
                    )
                )
            }
            if let failing = requests.failing {
                let (count, verb) = (Wording.count(failing.count, "request"), failing.count == 1 ? "fails" : "fail")
                findings.append(
                    DoctorFinding(
                        // What passes by itself has passed by then.
                        failing.longest > .seconds(3600) ? .error : .warning,
                        "deletion.failing",
                        "\(count) in the state \(state) \(verb) again and again, the first for "
                            + "\(Wording.length(failing.longest)): \(Wording.list(failing.situations))",
                        why:
                            "Each is tried again within the hour. An account that is locked out may be erased in part by now.",
                        todo:
                            "accountctl deletion list --state \(state) names them; accountctl deletion show says what ends it."
                    )
                )
            }
            if state == "residue" || state == "blocked" {
                findings.append(
                    DoctorFinding(
                        .error,
                        "deletion.\(state)",
                        Wording.count(count, "request") + " in the state \(state)",
                        why:
                            "They wait for somebody. Once the cause is gone they go on by themselves, and erase: within "
                            + (state == "residue" ? "the hour." : "five minutes."),
                        todo:
                            "accountctl deletion list --state \(state) names them; accountctl deletion show says what ends it."
                    )
                )
            }
        }
        return findings
    }

    private func brakes(on connection: isolated Connection) throws -> [DoctorFinding] {
        let stopped = try StoppedDeletions.read(on: connection)
        let (paused, waiting) = (stopped.paused, stopped.overCeiling)
        var findings: [DoctorFinding] = []
        if let general = stopped.general {
            findings.append(
                DoctorFinding(
                    // An hour's look at something is meant; what lasts for longer than a day may be forgotten.
                    general.length > .seconds(86_400) ? .error : .warning,
                    "deletion.paused",
                    "every deletion is paused, for \(Wording.length(general.length)), by \(SafeText.line(general.by))"
                        + (general.reason.map { ": \(SafeText.line($0))" } ?? ""),
                    why: "Nobody is erased, while the legal deadlines of all go on.",
                    todo:
                        "accountctl audit list --action deletion.pause says why; go on with: accountctl deletion resume --all"
                )
            )
        }
        if paused > 0, let longest = stopped.longest {
            findings.append(
                DoctorFinding(
                    .warning,
                    "deletion.paused",
                    "\(Wording.count(paused, "request")) \(paused == 1 ? "is" : "are") paused, the first for "
                        + Wording.length(longest),
                    why: "They do not go on by themselves, and their legal deadlines do not wait.",
                    todo: "accountctl deletion list --paused shows them; go on with: accountctl deletion resume REQUEST"
                )
            )
        }
        if waiting > 0 {
            findings.append(
                DoctorFinding(
                    .warning,
                    "deletion.ceiling",
                    "\(Wording.count(waiting, "request")) \(waiting == 1 ? "waits" : "wait") for the hourly ceiling",
                    why: "No more accounts are locked out in an hour: many more requests than usual may be a mistake.",
                    todo:
                        "Those of a list that was meant go on by themselves; deletion.hourly_ceiling lets more through. Else: "
                        + "accountctl deletion pause --all"
                )
            )
        }
        return findings
    }
}
