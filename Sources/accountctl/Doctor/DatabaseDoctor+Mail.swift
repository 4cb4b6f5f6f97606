import Postgres
import Terminal

extension DatabaseDoctor {
    /// Whether mail reaches Apple's relay, by what the checks of the streams settled.
    func mail(on connection: isolated Connection) throws -> [Finding] {
        let accounts = try connection.one("select count(*) from accountctl.relay_accounts", as: Int.self)
        let streams = try connection.query(
            """
            select
                name, reachable, spf, dkim,
                coalesce(confirmed_at < now() - interval '3 days', false),
                next_check_at < now() - interval '2 hours'
            from accountctl.mail_streams
            order by name
            """,
            as: (String, String?, String?, String?, Bool, Bool).self
        )
        guard !streams.isEmpty else {
            guard accounts > 0 else { return [] }
            return [
                Finding(
                    .notice,
                    "mail.no_stream",
                    Wording.count(accounts, "account") + " with a relay address, and no mail stream is declared",
                    why: "Apple drops mail from senders that are not registered or signed, without a word to you.",
                    todo: "Declare who sends your mail: accountctl relay stream add --help"
                )
            ]
        }
        var findings: [Finding] = []
        for (name, reachable, spf, dkim, isOld, isOverdue) in streams {
            if reachable == "no" {
                findings.append(
                    Finding(
                        .error,
                        "mail.unreachable",
                        "mail of the stream \(name) does not reach Apple's relay: SPF \(spf ?? "?"), DKIM \(dkim ?? "?")",
                        why: Wording.count(accounts, "account")
                            + " with a relay address: what is sent to them is lost.",
                        todo: "accountctl relay check \(name) --explain says what to publish."
                    )
                )
            } else if isOld || reachable == "unknown" {
                findings.append(
                    Finding(
                        .warning,
                        "mail.unknown",
                        "whether mail of the stream \(name) reaches Apple's relay has not been confirmed for days",
                        why: "DNS did not answer; a fault would not be seen.",
                        todo: "accountctl relay check \(name); is the setting mail.resolvers right?"
                    )
                )
            }
            if isOverdue {
                findings.append(
                    Finding(
                        .warning,
                        "mail.overdue",
                        "the check of the mail stream \(name) is overdue",
                        why: "A fault would not be seen.",
                        todo: "Let a worker run; accountctl jobs list --kind mail.check shows what became of it."
                    )
                )
            }
        }
        return findings.isEmpty
            ? [.ok("mail.streams", Wording.count(streams.count, "mail stream") + " in order")] : findings
    }
}
