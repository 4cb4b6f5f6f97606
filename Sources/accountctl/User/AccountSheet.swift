import AccountLifecycle
import JobQueue
import Postgres
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// An account as one screen.
struct AccountSheet {
    /// The CSV and TSV columns of facts in sections.
    static let sectionFields = [
        "auth.email", "auth.email_confirmed_at", "auth.phone", "auth.phone_confirmed_at", "auth.created_at",
        "auth.last_sign_in_at", "auth.banned_until", "auth.deleted_at", "auth.is_anonymous", "auth.is_sso",
        "auth.sessions", "auth.factors", "apple.uses_relay", "apple.credential_held", "apple.client_ids",
        "apple.checked_at", "apple.mark", "apple.marked_at", "relay.address", "relay.known_by", "relay.forwarding",
        "relay.forwarding_changed_at",
    ]

    let report: AccountReport
    let now: Date
    /// Completes the commands that the sentences suggest.
    let rewrite: (String) -> String

    private var warnings: [String] {
        let known = report.warnings.map { $0.words(about: report.id) }
        let paused = report.openDeletion.flatMap { deletion in
            report.brakes?.pausedWhole.map { why in
                "Its deletion is paused: \(why); see accountctl deletion show \(deletion.request.text)."
            }
        }
        return (known + [paused].compactMap(\.self)).map(rewrite)
    }

    var sheet: Sheet {
        Sheet([
            .init(.facts(head)),
            .init("warnings", title: "Warnings", .notes(warnings, .caution)),
            .init("auth", title: "Sign-in", .facts(auth)),
            identities,
            .init("apple", title: "Sign in with Apple", .facts(apple)),
            .init("relay", title: "Apple's relay", .facts(relay)),
            events,
            .init("profile", title: "Profile", isOpen: true, .facts(profile)),
            files,
            deletions, jobs, holds, tables, operations,
        ])
    }

    private var head: [Sheet.Fact] {
        var (ban, deletedAt, deletion) = (AccountBan?.none, Date?.none, DeletionInBrief?.none)
        switch report.standing {
        case .active: break
        case .banned(let found): ban = found
        case .softDeleted(let at): deletedAt = at
        case .deletion(let found): deletion = found
        }
        return [
            .init("id", "Account", .uuid(report.id)),
            .init("state", "State", .text(report.standing.state.word), report.standing == .active ? .good : .caution),
            bannedUntil("Until", ban),
            moment("deleted_at", "Since", deletedAt),
            .init("request", "Deletion request", .uuid(deletion?.request)),
            .init("step", "Step", .text(deletion?.step?.rawValue)),
            .init("situation", "Why", .text(report.openDeletion?.situation?.code.rawValue), .caution),
            .init("subject", "About", .text(report.openDeletion?.situation?.subject)),
            .paused(report.brakes),
            moment("legal_deadline", "Legal deadline", deletion?.legalDeadline),
        ]
    }

    private var auth: [Sheet.Fact] {
        let user = report.authUser
        return [
            .init("email", "E-mail", .personal(user.email, .email)),
            moment("email_confirmed_at", "E-mail confirmed", user.emailConfirmedAt),
            .init("phone", "Phone", .personal(user.phone, .phone)),
            moment("phone_confirmed_at", "Phone confirmed", user.phoneConfirmedAt),
            moment("created_at", "Created", user.createdAt),
            moment("last_sign_in_at", "Last sign-in", user.lastSignInAt),
            bannedUntil("Banned until", user.ban),
            moment("deleted_at", "Soft-deleted", user.deletedAt),
            .init("is_anonymous", "Anonymous", .bool(user.isAnonymous), shown: user.isAnonymous ? "yes" : nil),
            .init("is_sso", "Enterprise sign-in", .bool(user.isSSO), shown: user.isSSO ? "yes" : nil),
            .init("sessions", "Sessions", .integer(user.sessions)),
            .init("factors", "Second factors", .integer(user.factors)),
        ]
    }

    /// When a ban ends; null for programs if it has no end, since the state already shows the ban.
    private func bannedUntil(_ label: String, _ ban: AccountBan?) -> Sheet.Fact {
        if let until = ban?.until, report.openDeletion?.isLockedOut == true {
            return .init("banned_until", label, .date(until), shown: Wording.moment(until) + ", by its deletion")
        }
        guard let ban, ban.until == nil else { return moment("banned_until", label, ban?.until) }
        return .init("banned_until", label, .null, shown: "without end")
    }

    private var apple: [Sheet.Fact] {
        let isUsed = report.identities.contains { $0.provider == "apple" } || !report.credentials.isEmpty
        return [
            .init("uses_relay", "Relay address", isUsed ? .bool(report.relay != nil) : .null),
            .init("credential_held", "Credential held", isUsed ? .bool(!report.credentials.isEmpty) : .null),
            .init(
                "client_ids",
                "For",
                report.credentials.isEmpty ? .null : .list(report.credentials.map { .text($0.clientID) })
            ),
            moment("checked_at", "Last check", report.credentials.compactMap(\.checkedAt).max()),
            .init("mark", "Reported state", .text(report.mark?.state), report.mark == nil ? .none : .caution),
            moment("marked_at", "Reported at", report.mark?.since),
        ]
    }

    private var relay: [Sheet.Fact] {
        let relay = report.relay
        return [
            .init("address", "Address", .personal(relay?.address, .email)),
            .init("known_by", "Known by", .text(relay?.knownBy.rawValue)),
            .init(
                "forwarding",
                "Forwarding",
                .text(relay?.forwarding.rawValue),
                relay?.forwarding == .off ? .caution : .none
            ),
            moment("forwarding_changed_at", "Since", relay?.forwardingChangedAt),
        ]
    }

    private var profile: [Sheet.Fact] {
        (report.profile ?? [:]).sorted { $0.key < $1.key }.map { key, value in
            guard key == "updated_at" else { return .init(key, key, .personal(value.text, .name)) }
            // An app's own table may have a column of another type here.
            return value.moment.map { moment(key, key, $0) } ?? .init(key, key, .text(value.text))
        }
    }

    /// A time, which people see together with how long ago it was.
    private func moment(_ name: String, _ label: String, _ date: Date?) -> Sheet.Fact {
        Sheet.Fact(
            name,
            label,
            .date(date),
            shown: date.map { Wording.moment($0) + ", " + Wording.relative($0, to: now) }
        )
    }
}
