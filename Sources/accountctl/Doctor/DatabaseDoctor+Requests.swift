import Postgres
import Terminal

extension DatabaseDoctor {
    func requests(on connection: isolated Connection) throws -> [Finding] {
        var findings: [Finding] = []
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
                        seconds < 0 ? .error : .warning,
                        "deletion.deadline",
                        "a request in the state \(state) whose legal deadline \(left)",
                        why: "An account must be erased within a calendar month of the request.",
                        todo: "accountctl deletion list shows it; deletion show says what ends its state."
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
                        todo: "accountctl deletion list --state \(state); deletion show says what ends it."
                    )
                )
            }
        }
        return findings
    }
}
