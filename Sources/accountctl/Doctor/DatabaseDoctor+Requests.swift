import AccountLifecycle
import Postgres
import Terminal

extension DatabaseDoctor {
    func requests(on connection: isolated Connection) throws -> [Finding] {
        var findings = try brakes(on: connection)
        let rows = try connection.query(
            """
            select state, count(*), min(legal_deadline - now()) < interval '5 days',
                   extract(epoch from min(legal_deadline - now()))::bigint
            from accountctl.deletion_requests
            where finished_at is null
            group by state
            order by state
            """,
            as: (String, Int, Bool, Int).self
        )
        for (state, count, isUrgent, seconds) in rows {
            if isUrgent {
                let left =
                    seconds < 0
                    ? "passed \(Wording.length(.seconds(-seconds))) ago" : "is in \(Wording.length(.seconds(seconds)))"
                findings.append(
                    Finding(
                        .error,
                        "deletion.deadline",
                        "a request in the state \(state) whose legal deadline \(left)",
                        why: "An account must be erased within a calendar month of the request.",
                        todo: "accountctl deletion list shows it; accountctl deletion show says what ends its state."
                    )
                )
            }
            if state == "residue" || state == "blocked" {
                findings.append(
                    Finding(
                        .error,
                        "deletion.\(state)",
                        Wording.count(count, "request") + " in the state \(state)",
                        why: "They do not go on by themselves.",
                        todo:
                            "accountctl deletion list --state \(state) names them; accountctl deletion show says what ends it."
                    )
                )
            }
        }
        return findings
    }

    /// Deletions that an operator stopped, and those that wait for the hour to pass.
    private func brakes(on connection: isolated Connection) throws -> [Finding] {
        let (since, by, why, paused, longest, waiting) = try connection.one(
            """
            select extract(epoch from now() - max(b.paused_at))::bigint, max(b.paused_by), max(b.paused_reason), count(r.paused_at),
                   extract(epoch from now() - min(r.paused_at))::bigint,
                   count(*) filter (where r.state = 'held' and r.situation ->> 'code' = \(Situation.Code.ceiling.rawValue))
            from accountctl.deletion_brakes as b
            left join accountctl.deletion_requests as r on r.finished_at is null
            """,
            as: (Int?, String?, String?, Int, Int?, Int).self
        )
        var findings: [Finding] = []
        if let since, let by {
            findings.append(
                Finding(
                    // An hour's look at something is meant; what lasts for longer than a day may be forgotten.
                    since > 86_400 ? .error : .warning,
                    "deletion.paused",
                    "every deletion is paused, for \(Wording.length(.seconds(since))), by \(SafeText.line(by))"
                        + (why.map { ": \(SafeText.line($0))" } ?? ""),
                    why: "Nobody is erased, while the legal deadlines of all go on.",
                    todo:
                        "accountctl audit list --action deletion.pause says why; go on with: accountctl deletion resume --all"
                )
            )
        }
        if paused > 0, let longest {
            findings.append(
                Finding(
                    .warning,
                    "deletion.paused",
                    "\(Wording.count(paused, "request")) \(paused == 1 ? "is" : "are") paused, the first for "
                        + Wording.length(.seconds(longest)),
                    why: "They do not go on by themselves, and their legal deadlines do not wait.",
                    todo: "accountctl deletion list --paused shows them; go on with: accountctl deletion resume REQUEST"
                )
            )
        }
        if waiting > 0 {
            findings.append(
                Finding(
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
