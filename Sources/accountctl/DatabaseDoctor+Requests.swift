import Postgres
import Sealing
import Settings
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
        findings += try keys(on: connection)
        return findings
    }

    /// Keys that open rows were sealed with.
    private func keys(on connection: isolated Connection) throws -> [Finding] {
        let needed = try connection.query(
            """
            select distinct sealing_key_id from accountctl.deletion_requests where sealing_key_id is not null
            union
            select distinct sealing_key_id from accountctl.apple_credentials
            union
            select distinct sealing_key_id from accountctl.pending_revocations where sealing_key_id is not null
            order by 1
            """,
            as: String.self
        )
        guard settings.keys.sealingKeyFile != nil else { return [] }
        let held: Set<String>
        do {
            held = Set(try WorkerServices.sealingKeys(settings).ids.map(\.description))
        } catch {
            return [Finding(.error, "keys.sealing", ErrorReport(error).message, why: "Nothing sealed can be opened.")]
        }
        let missing = needed.filter { !held.contains($0) }
        guard !missing.isEmpty else { return [.ok("keys.sealing", "every key that sealed something is there")] }
        return [
            Finding(
                .error,
                "keys.sealing",
                "sealed values need the keys \(Wording.list(missing)), which keys.sealing_file does not have",
                why: "Their requests cannot be verified, and their grants at Apple not revoked.",
                todo: "Put the keys back from where they are kept."
            )
        ]
    }
}
