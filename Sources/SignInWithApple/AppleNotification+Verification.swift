import Crypto
import Sealing

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

extension AppleNotification {
    /// The longest body that is read, in bytes.
    static let longestBody = 32_768

    /// What a check found.
    enum Verdict: Sendable, Hashable {
        /// Apple's, for us, and good when it came.
        case verified(AppleNotification)
        /// Signed with a key that the set lacks: fetch and check again.
        case unknownKey(String)
        /// Not to be believed.
        case refused(TokenProblem)
    }

    /// Checks the body of a notification request: `{"payload": "<JWS>"}`.
    ///
    /// A pure function. Whether it had ended is judged by when it `arrived`: one that waited here may have ended since.
    /// What was taken in before is known by its id. `keys` is nil when none of Apple's are there.
    ///
    /// - Returns: The verdict. Nothing of a body that is not signed is ever returned, except a key id to look for.
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

    /// Reads the signed payload of a token.
    ///
    /// Refused is only what is not for us, was not for then, or is no notification: Apple does not send again what it
    /// holds to be delivered, so that whatever else is missing or of another form is made up for.
    init(
        _ payload: StrictJSON,
        of token: [UInt8],
        audiences: Set<String>,
        arrived: Date,
        now: Date
    ) throws(TokenProblem) {
        // Apple's printed examples have no expiry, captured notifications do.
        let claims = try TokenClaims(
            payload,
            audiences: audiences,
            clock: (arrived: arrived, now: now),
            datesRequired: false
        )
        // Identity tokens have the same issuer, audiences and keys, and everybody who signs in holds one.
        guard case .object(let members) = payload, let told = members["events"] else { throw .missingClaim }
        id = Self.text(payload["jti"], upTo: 255) ?? Self.digest(of: token)
        audience = claims.audience
        issuedAt = claims.issuedAt
        events = Self.events(told, issuedAt: claims.issuedAt)
    }

    /// Names a token that has no usable name of its own.
    private static func digest(of token: [UInt8]) -> String {
        "sha256:" + Base64.encode(Array(SHA256.hash(data: token)), alphabet: .urlSafe)
    }

    /// A text that a row of ours can hold.
    fileprivate static func text(_ claim: StrictJSON?, upTo limit: Int) -> String? {
        guard let text = claim?.text, (1...limit).contains(text.utf8.count), !text.utf8.contains(0) else { return nil }
        return text
    }

    /// Apple's page prints an object, every captured notification has a string that holds one, and arrays are feared.
    ///
    /// Whatever Apple signed for us is taken in: what is in none of these forms becomes an event that says so, and does
    /// not take those beside it along.
    private static func events(_ claim: StrictJSON, issuedAt: Date) -> [Event] {
        var claim = claim
        if case .string(let text) = claim, let inner = try? StrictJSON(parsing: Array(text.utf8)) { claim = inner }
        guard case .array(let entries) = claim, !entries.isEmpty else { return [Event(claim, issuedAt: issuedAt)] }
        let read = entries.prefix(longestList).map { Event($0, issuedAt: issuedAt) }
        return entries.count > longestList ? read + [.unreadable(at: issuedAt)] : read
    }

    /// More events than this in one notification are not read.
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
        // An event about nobody, or about somebody who cannot be one of ours, is kept like one about a stranger.
        sub = AppleNotification.text(json["sub"], upTo: 255)
        self.occurredAt = occurredAt
        email = AppleNotification.text(json["email"], upTo: 320)
        isPrivateEmail = json["is_private_email"]?.truth
    }

    fileprivate static func unreadable(at moment: Date) -> Self {
        Self(type: .other("unreadable"), sub: nil, occurredAt: moment, email: nil, isPrivateEmail: nil)
    }

    /// Milliseconds in every captured notification, seconds on Apple's page; told apart by size.
    private static func time(_ claim: StrictJSON?, issuedAt: Date) -> Date? {
        guard let claim else { return issuedAt }
        guard let value = claim.numeric, (0..<1e14).contains(value) else { return nil }
        return Date(timeIntervalSince1970: value > 1e11 ? value / 1000 : value)
    }
}

extension AppleClients {
    /// Verifies the body of a notification request, fetching Apple's keys where needed.
    ///
    /// By when it `arrived`, nil for now, it is judged whether it had ended, and whether a key that Apple's set lacks
    /// may be one that it has just changed to.
    ///
    /// - Returns: The notification, or why it is not believed; see ``TokenProblem/mayPass``.
    /// - Throws: `CancellationError`.
    package func verify(
        notification body: [UInt8],
        arrived: Date? = nil
    ) async throws(CancellationError) -> Result<AppleNotification, TokenProblem> {
        let audiences = Set(clientIDs)
        let arrived = arrived ?? moment
        // Nothing is fetched for a body that is not even a signed token.
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
