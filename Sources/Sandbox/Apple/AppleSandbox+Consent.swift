import Synchronization

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// A person's actions on an app in the settings of a device, and the notifications that Apple then sends to the app.
extension AppleSandbox {
    /// The consent between a person and an app.
    package enum Consent: Sendable, Equatable {
        /// The person never signed in to the app or its group.
        case never
        case given(since: Date)
        case ended(at: Date)
    }

    /// The consent of a person, identified by the sub that the team knows, to an app.
    package func consent(sub: String, clientID: String) -> Consent {
        state.withLock { state in
            guard
                let client = state.clients[clientID],
                let person = state.person(subject: sub, teamID: client.teamID),
                let latest = state.latestAuthorization(of: person, teamID: client.teamID, group: client.group)
            else { return .never }
            return latest.endedAt.map { .ended(at: $0) } ?? .given(since: latest.since)
        }
    }

    /// The number of current consents.
    package var liveConsents: Int {
        state.withLock { state in state.authorizations.count { $0.endedAt == nil } }
    }

    /// The person stops using their Apple Account with the app, in the settings of a device.
    ///
    /// - Returns: the notification for the app's server, for ``NotificationSender/post(_:to:copies:forgery:)``; nil if
    ///   there was no consent to end.
    @discardableResult
    package func stopUsing(sub: String, clientID: String) -> AppleNotification? {
        let now = clock.now
        return withPerson(sub, clientID) { state, client, person in
            guard
                let live = state.liveAuthorization(of: person, teamID: client.teamID, group: client.group),
                state.end(live.id, now: now)
            else { return nil }
            return AppleNotification(.consentRevoked, sub: sub, audience: client.group, eventTime: now)
        }
    }

    /// The person changes their password: refresh tokens die, the consent stays, and no notification is sent.
    ///
    /// - Returns: whether the team knows the person.
    @discardableResult
    package func changePassword(sub: String, clientID: String) -> Bool {
        let changed: Bool? = withPerson(sub, clientID) { state, _, person in
            for (text, token) in state.refreshTokens where token.person == person {
                state.refreshTokens[text]?.isDead = true
            }
            return true
        }
        return changed ?? false
    }

    /// The person deletes their Apple Account: every consent ends.
    ///
    /// - Returns: the notification for the app's server, in the given spelling; nil for an unknown person.
    @discardableResult
    package func deleteAccount(
        sub: String,
        clientID: String,
        spelling: AppleNotification.Event = .accountDeleted
    ) -> AppleNotification? {
        let now = clock.now
        return withPerson(sub, clientID) { state, client, person in
            state.people[person]?.isDeleted = true
            for authorization in state.authorizations where authorization.person == person {
                state.end(authorization.id, now: now)
            }
            return AppleNotification(spelling, sub: sub, audience: client.group, eventTime: now)
        }
    }

    /// The person switches the forwarding of their relay address on or off.
    ///
    /// - Returns: the notification for the app's server; nil for a person who is unknown or has no relay address.
    @discardableResult
    package func setForwarding(_ isOn: Bool, sub: String, clientID: String) -> AppleNotification? {
        let now = clock.now
        return withPerson(sub, clientID) { state, client, person in
            guard
                state.people[person]?.hidesEmail == true,
                let address = state.people[person]?.relayAddresses[client.teamID]
            else { return nil }
            return AppleNotification(
                isOn ? .emailEnabled : .emailDisabled,
                sub: sub,
                audience: client.group,
                eventTime: now,
                email: address,
                isPrivateEmail: true
            )
        }
    }

    private func withPerson<Result: Sendable>(
        _ sub: String,
        _ clientID: String,
        _ body: (inout AppleState, AppleClient, Int) -> Result?
    ) -> Result? {
        state.withLock { state in
            guard
                let client = state.clients[clientID],
                let person = state.person(subject: sub, teamID: client.teamID)
            else { return nil }
            return body(&state, client, person)
        }
    }

    /// The notification about a consent that ended, whatever ended it; addressed to the primary App ID.
    func consentRevoked(_ ended: AppleState.Ended, at time: Date) -> AppleNotification? {
        state.withLock { state in
            state.people[ended.person]?.subjects[ended.teamID].map { subject in
                AppleNotification(.consentRevoked, sub: subject, audience: ended.group, eventTime: time)
            }
        }
    }
}
