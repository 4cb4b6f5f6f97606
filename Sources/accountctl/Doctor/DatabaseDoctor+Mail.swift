import Postgres
import Terminal

extension DatabaseDoctor {
    /// Whether mail reaches Apple's relay, by what the checks of the streams settled.
    func mail(on connection: isolated Connection) throws -> [Finding] {
        let accounts = try connection.one("select count(*) from accountctl.relay_accounts", as: Int.self)
        let streams = try connection.query(
            """
            select
                stream.name, stream.reachable, stream.spf, stream.dkim,
                coalesce(stream.confirmed_at < now() - interval '3 days', false),
                stream.next_check_at < now() - interval '2 hours',
                stream.standing ->> 'unknownSince' is not null,
                seen.spf, seen.dkim
            from accountctl.mail_streams as stream
            left join lateral (
                select spf, dkim
                from accountctl.mail_checks
                where stream_id = stream.id
                order by checked_at desc, id desc
                limit 1
            ) as seen on true
            order by stream.name
            """,
            as: (String, String?, String?, String?, Bool, Bool, Bool, String?, String?).self
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
        for (name, reachable, spf, dkim, isOld, isOverdue, isSilent, seenSPF, seenDKIM) in streams {
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
                let isVague = !isSilent && !isOverdue && [seenSPF, seenDKIM].contains("unknown")
                findings.append(
                    isVague
                        ? vague(name, spf: seenSPF, dkim: seenDKIM)
                        : unconfirmed(name, isOld: isOld, isSilent: isSilent)
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

    /// A stream of which DNS answers and which cannot be judged all the same.
    private func vague(_ name: String, spf: String?, dkim: String?) -> Finding {
        Finding(
            .warning,
            "mail.unknown",
            "too little is stated of the mail stream \(name) to tell whether it reaches Apple's relay: "
                + "SPF \(spf ?? "?"), DKIM \(dkim ?? "?")",
            why: "Without who sends, and with which key, a fault would not be seen.",
            todo: "accountctl relay check \(name) --explain says what is missing."
        )
    }

    private func unconfirmed(_ name: String, isOld: Bool, isSilent: Bool) -> Finding {
        Finding(
            .warning,
            "mail.unknown",
            isOld
                ? "whether mail of the stream \(name) reaches Apple's relay has not been confirmed for days"
                : "whether mail of the stream \(name) reaches Apple's relay cannot be told at present",
            why: isSilent ? "DNS did not answer; a fault would not be seen." : "A fault would not be seen.",
            todo: "accountctl relay check \(name); is the setting mail.resolvers right?"
        )
    }
}
