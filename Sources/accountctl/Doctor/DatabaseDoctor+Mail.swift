import AccountLifecycle
import MailRelay
import Postgres
import Terminal

extension DatabaseDoctor {
    /// Whether mail reaches Apple's relay, according to the latest checks of the mail streams.
    func mail(on connection: isolated Connection) throws -> [DoctorFinding] {
        let (accounts, isOfAll) = try RelayDirectory.count(among: 10_000, on: connection)
        let number =
            accounts == 0 && !isOfAll
            ? "hardly any account" : (isOfAll ? "" : "at least ") + Wording.count(accounts, "account")
        let concerned = "\(number) with a relay address"
        let streams = try MailStreamStore.health(on: connection)
        guard !streams.isEmpty else {
            guard accounts > 0 else { return [] }
            return [
                DoctorFinding(
                    .notice,
                    "mail.no_stream",
                    "\(concerned), and no mail stream is declared",
                    why: "Apple drops mail from senders that are not registered or do not sign, without telling you.",
                    todo: "Declare who sends your mail: accountctl relay stream add --help"
                )
            ]
        }
        var findings: [DoctorFinding] = []
        for stream in streams {
            if stream.reachable == .no {
                findings.append(unreachable(stream, concerned))
            } else if stream.isOld || stream.reachable == .unknown {
                let isVague =
                    !stream.isSilent && !stream.isOverdue && [stream.seenSPF, stream.seenDKIM].contains(.unknown)
                findings.append(isVague ? vague(stream) : unconfirmed(stream))
            }
            if stream.isOverdue {
                findings.append(
                    DoctorFinding(
                        .warning,
                        "mail.overdue",
                        "the check of the mail stream \(stream.name) is overdue",
                        why: "A fault would go unnoticed.",
                        todo: "Run a worker; accountctl jobs list --kind mail.check shows what became of it."
                    )
                )
            }
        }
        return findings.isEmpty
            ? [.ok("mail.streams", Wording.count(streams.count, "mail stream") + " in order")] : findings
    }

    private func unreachable(_ stream: MailStreamHealth, _ concerned: String) -> DoctorFinding {
        DoctorFinding(
            .error,
            "mail.unreachable",
            "mail of the stream \(stream.name) does not reach Apple's relay: "
                + Self.paths(spf: stream.spf, dkim: stream.dkim),
            why: "\(concerned): what is sent to them is lost.",
            todo: "accountctl relay check \(stream.name) --explain says what to publish."
        )
    }

    /// A stream that cannot be judged although DNS answers: too little is declared, or its DKIM key is in test mode.
    private func vague(_ stream: MailStreamHealth) -> DoctorFinding {
        DoctorFinding(
            .warning,
            "mail.unknown",
            "what is declared and published about the mail stream \(stream.name) does not show whether it reaches Apple's relay: "
                + Self.paths(spf: stream.seenSPF, dkim: stream.seenDKIM),
            why: "Without the senders and a valid key, a fault would go unnoticed.",
            todo: "accountctl relay check \(stream.name) --explain says what is missing."
        )
    }

    private func unconfirmed(_ stream: MailStreamHealth) -> DoctorFinding {
        DoctorFinding(
            .warning,
            "mail.unknown",
            stream.isOld
                ? "whether mail of the stream \(stream.name) reaches Apple's relay has not been confirmed for days"
                : "whether mail of the stream \(stream.name) reaches Apple's relay is not known at present",
            why: stream.isSilent ? "DNS did not answer; a fault would go unnoticed." : "A fault would go unnoticed.",
            todo: "accountctl relay check \(stream.name); is the setting mail.resolvers right?"
        )
    }

    private static func paths(spf: PathVerdict?, dkim: PathVerdict?) -> String {
        "SPF \(spf?.rawValue ?? "?"), DKIM \(dkim?.rawValue ?? "?")"
    }
}
