import Crypto
import Sealing

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

extension AppleNotification {
    /// The maximum length of a body, in bytes.
    static let longestBody = 32_768

    /// The result of a verification.
    enum Verdict: Sendable, Hashable {
        /// Signed by Apple, addressed to us, and valid when it arrived.
        case verified(AppleNotification)
        /// Signed with a key that the set lacks; the caller fetches the keys and verifies again.
        case unknownKey(String)
        /// Not authentic or not valid.
        case refused(TokenProblem)
    }

    /// Verifies the body of a notification request: `{"payload": "<JWS>"}`.
    ///
    /// A pure function. Expiry is checked against the time of arrival, since a notification may expire while it waits
    /// here. Replays are detected by the notification's id. `keys` is nil if none of Apple's keys are available.
    ///
    /// - Returns: The verdict. It exposes nothing from an unsigned body except a key id to look up.
    static func verify(
        body: [UInt8],
        keys: AppleKeySet?,
        audiences: Set<String>,
        arrived: Date,
        now: Date
    ) -> Verdict {
        guard body.count <= longestBody else { return .refused(.tooLarge) }
        guard let json = try? StrictJSON(parsing: body, maximumDepth: 2), let token = json["payload"]?.text else {
            return .refused(.malformed)
        }
        let bytes = Array(token.utf8)
        switch SignedToken.verify(bytes, keys: keys) {
        case .unknownKey(let keyID): return .unknownKey(keyID)
        case .refused(let problem): return .refused(problem)
        case .verified(let payload):
            do {
                return .verified(
                    try AppleNotification(payload, of: bytes, audiences: audiences, arrived: arrived, now: now)
                )
            } catch {
                return .refused(error)
            }
        }
    }

    /// Parses the signed payload of a token.
    ///
    /// It refuses only payloads that are not for us, were not valid on arrival, or are not notifications. Apple does
    /// not resend a notification that it considers delivered, so anything else that is missing or malformed gets a
    /// default.
    init(
        _ payload: StrictJSON,
        of token: [UInt8],
        audiences: Set<String>,
        arrived: Date,
        now: Date
    ) throws(TokenProblem) {
        // Apple's documented examples have no expiry; captured notifications do.
        let claims = try TokenClaims(
            payload,
            audiences: audiences,
            clock: (arrived: arrived, now: now),
            datesRequired: false
        )
        // Identity tokens share issuer, audiences and keys, and every signed-in user has one, so `events` must be
        // present.
        guard case .object(let members) = payload, let told = members["events"] else { throw .missingClaim }
        id = Self.text(payload["jti"], upTo: 255) ?? Self.digest(of: token)
        audience = claims.audience
        events = Self.events(told, issuedAt: claims.issuedAt)
    }

    /// An id for a token without a usable `jti`.
    private static func digest(of token: [UInt8]) -> String {
        "sha256:" + Base64.encode(Array(SHA256.hash(data: token)), alphabet: .urlSafe)
    }

    /// The text of a claim if a database row can store it.
    fileprivate static func text(_ claim: StrictJSON?, upTo limit: Int) -> String? {
        guard let text = claim?.text, (1...limit).contains(text.utf8.count), !text.utf8.contains(0) else { return nil }
        return text
    }

    /// The events of a notification, accepted as an object, a string that contains one, or an array.
    ///
    /// Apple's documentation shows an object; every captured notification has a string; an array is possible.
    /// Everything that Apple signed for us is accepted: an entry in none of these forms becomes an `unreadable` event,
    /// and the entries beside it are kept.
    private static func events(_ claim: StrictJSON, issuedAt: Date) -> [Event] {
        var claim = claim
        if case .string(let text) = claim, let inner = try? StrictJSON(parsing: Array(text.utf8)) { claim = inner }
        guard case .array(let entries) = claim, !entries.isEmpty else { return [Event(claim, issuedAt: issuedAt)] }
        let read = entries.prefix(longestList).map { Event($0, issuedAt: issuedAt) }
        return entries.count > longestList ? read + [.unreadable(at: issuedAt)] : read
    }

    /// The most events that are read from one notification.
    private static let longestList = 16
}

extension AppleNotification.Event {
    fileprivate init(_ json: StrictJSON, issuedAt: Date) {
        guard let type = json["type"]?.text, !type.isEmpty,
            let occurredAt = Self.time(json["event_time"], issuedAt: issuedAt)
        else {
            self = .unreadable(at: issuedAt)
            return
        }
        self.type = AppleNotification.EventType(type)
        // An event with no sub, or with one too long to be a user's, is kept like an event about an unknown user.
        sub = AppleNotification.text(json["sub"], upTo: 255)
        self.occurredAt = occurredAt
        email = AppleNotification.text(json["email"], upTo: 320)
    }

    fileprivate static func unreadable(at moment: Date) -> Self {
        Self(type: .other("unreadable"), sub: nil, occurredAt: moment, email: nil)
    }

    /// Parses milliseconds, as in every captured notification, or seconds, as in Apple's documentation, told apart by
    /// size.
    private static func time(_ claim: StrictJSON?, issuedAt: Date) -> Date? {
        guard let claim else { return issuedAt }
        guard let value = claim.numeric, (0..<1e14).contains(value) else { return nil }
        return Date(timeIntervalSince1970: value > 1e11 ? value / 1000 : value)
    }
}

extension AppleClients {
    /// Verifies the body of a notification request, fetching Apple's keys if needed.
    ///
    /// `arrived`, by default the current time, decides whether the notification had expired, and whether an unknown key
    /// may be one that Apple has just rotated to.
    ///
    /// - Returns: The notification, or why it was refused; see ``TokenProblem/mayPass``.
    /// - Throws: `CancellationError`.
    package func verify(
        notification body: [UInt8],
        arrived: Date? = nil
    ) async throws(CancellationError) -> Result<AppleNotification, TokenProblem> {
        let audiences = Set(clientIDs)
        let arrived = arrived ?? moment
        // The first try has no keys, so that nothing is fetched for a body that is not even a signed token.
        var lookup = AppleKeys.Lookup(set: nil, isConclusive: false)
        for isLastTry in [false, true] {
            switch AppleNotification.verify(
                body: body,
                keys: lookup.set,
                audiences: audiences,
                arrived: arrived,
                now: moment
            ) {
            case .verified(let notification): return .success(notification)
            case .refused(let problem): return .failure(problem)
            case .unknownKey(let keyID):
                if isLastTry { break }
                lookup = try await keys.lookup(keyID, arrived: arrived)
            }
        }
        return .failure(lookup.isConclusive ? .unknownKey : .keysUnavailable)
    }
}
