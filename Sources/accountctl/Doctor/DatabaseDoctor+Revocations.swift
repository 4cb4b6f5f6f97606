import AccountLifecycle
import Postgres
import Terminal

extension DatabaseDoctor {
    /// Reports credentials that Apple does not revoke: the deletion of their accounts does not wait for it, and a test
    /// of our keys does not show it.
    func revocations(on connection: isolated Connection) throws -> [DoctorFinding] {
        let late = try LateRevocations.read(on: connection)
        return [late.waiting.flatMap(Self.waiting), late.givenUp.map(Self.givenUp)].compactMap(\.self)
    }

    /// Whether Apple's notifications arrive.
    func notifications(on connection: isolated Connection) throws -> [DoctorFinding] {
        let unheard = try UnheardRevocations.count(on: connection)
        let waiting = try InboxFilling.count(on: connection)
        return [Self.unheard(unheard), Self.inbox(waiting)].compactMap(\.self)
    }

    /// Our own revocations without a notification; up to two are ignored, since their credentials may already have been
    /// dead, of which Apple sends no notification.
    private static func unheard(_ count: Int) -> DoctorFinding? {
        guard count > 2 else { return nil }
        return DoctorFinding(
            .notice,
            "apple.notifications",
            "\(count) erased accounts were revoked at Apple within 30 days, and Apple sent no notification of them",
            why: "Apple sends one for each to the endpoint that is registered there. Without them, you do not "
                + "learn who stops using the app, deletes the Apple Account or switches mail forwarding off.",
            todo: "Check that the endpoint is registered at the primary App ID and can be reached from outside, "
                + "and that client_ids has the bundle id of that App ID: the metric apple_notifications_total "
                + "counts what is for others as refused_audience."
        )
    }

    /// An inbox that is at least half full: nobody is told of what it turns away.
    private static func inbox(_ waiting: Int) -> DoctorFinding? {
        guard waiting * 2 >= InboxFilling.most else { return nil }
        return DoctorFinding(
            .warning,
            "apple.inbox",
            "\(waiting) notifications wait in the inbox for Apple's, which holds \(InboxFilling.most)",
            why: "While it is full, Apple's notifications are turned away, and Apple may not send them again.",
            todo: "A worker reads it every minute: see that one runs. If one does, somebody else sends there: have the "
                + "edge function verify Apple's signature before it passes a notification on."
        )
    }

    /// Credentials that have long waited for Apple to revoke them.
    private static func waiting(_ part: LateRevocations.Part) -> DoctorFinding? {
        guard part.longest > LateRevocations.patience else { return nil }
        let (verb, end) = (part.count == 1 ? "waits" : "wait", Wording.length(max(part.left, .zero)))
        return DoctorFinding(
            // An outage at Apple ends within a week; a longer wait needs an operator.
            part.longest > LateRevocations.patience * 7 ? .error : .warning,
            "apple.revocations",
            "\(credentials(part)) \(verb) for Apple to revoke \(part.count == 1 ? "it" : "them"), the first for "
                + "\(Wording.length(part.longest)) and \(end) more: \(Wording.list(part.outcomes))",
            why:
                "The app keeps its access to the Apple Accounts of people whose accounts are erased. Credentials that "
                + "are still waiting at the end of that time are reported as not revoked. While every deletion is "
                + "paused, no revocation is tried.",
            todo: "accountctl apple test says whether Apple accepts the keys. If it does, Apple does not know these "
                + "credentials under their client id: was it moved to another group of apps, or transferred? "
                + "accountctl deletion list --all --apple pending names the requests."
        )
    }

    /// Credentials that were given up.
    private static func givenUp(_ part: LateRevocations.Part) -> DoctorFinding {
        DoctorFinding(
            .warning,
            "apple.not_revoked",
            "\(credentials(part)) \(part.count == 1 ? "was" : "were") given up within 90 days, not revoked at Apple: "
                + Wording.list(part.outcomes),
            why: "The app keeps its access to these Apple Accounts until their owners end it themselves.",
            todo:
                "Make sure that the app explains how to end it when the status of a deletion is not_revoked. The cause "
                + "may affect other accounts. accountctl deletion list --all --apple not_revoked names the "
                + "requests."
        )
    }

    private static func credentials(_ part: LateRevocations.Part) -> String {
        "\(Wording.count(part.count, "credential")) of \(Wording.list(part.clientIDs))"
    }
}
