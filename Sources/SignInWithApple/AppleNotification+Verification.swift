#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

extension AppleNotification {
    /// The longest body that is read, in bytes.
    package static let longestBody = 32_768

    /// What a check found.
    package enum Verdict: Sendable, Hashable {
        /// Apple's, for us, now.
        case verified(AppleNotification)
        /// Signed with a key that the set lacks: fetch and check again.
        case unknownKey(String)
        /// Not to be believed.
        case refused(TokenProblem)
    }

    /// Checks the body of a notification request: `{"payload": "<JWS>"}`.
    ///
    /// A pure function.
    ///
    /// - Parameters:
    ///   - body: The request's body.
    ///   - keys: Apple's keys; nil when there are none.
    ///   - audiences: The configured client ids.
    ///   - now: The moment.
    /// - Returns: The verdict. Nothing of a body that is not signed is ever returned, except a key id to look for.
    package static func verify(body: [UInt8], keys: AppleKeySet?, audiences: Set<String>, now: Date) -> Verdict {
        guard body.count <= longestBody else { return .refused(.tooLarge) }
        guard let json = try? StrictJSON(parsing: body, maximumDepth: 2), let token = json["payload"]?.text else {
            return .refused(.malformed)
        }
        switch SignedToken.verify(Array(token.utf8), keys: keys) {
        case .unknownKey(let keyID): return .unknownKey(keyID)
        case .refused(let problem): return .refused(problem)
        case .verified(let payload):
            do {
                return .verified(try AppleNotification(payload, audiences: audiences, now: now))
            } catch {
                return .refused(error)
            }
        }
    }

    /// Reads the signed payload.
    init(_ payload: StrictJSON, audiences: Set<String>, now: Date) throws(TokenProblem) {
        // Apple's printed examples have no expiry, captured notifications do.
        let claims = try TokenClaims(payload, audiences: audiences, now: now, expiryRequired: false)
        guard let jti = payload["jti"]?.text, (1...255).contains(jti.utf8.count) else { throw .missingClaim }
        self.jti = jti
        audience = claims.audience
        issuedAt = claims.issuedAt
        events = try Self.events(payload["events"], issuedAt: claims.issuedAt)
    }

    /// Apple's page prints an object, every captured notification has a string that holds one, and arrays are feared.
    private static func events(_ claim: StrictJSON?, issuedAt: Date) throws(TokenProblem) -> [Event] {
        switch claim {
        case nil: throw .missingClaim
        case .string(let text)?:
            guard let inner = try? StrictJSON(parsing: Array(text.utf8)) else { throw .payload }
            // A string in a string is nobody's form.
            if case .string = inner { throw .payload }
            return try events(inner, issuedAt: issuedAt)
        case .array(let entries)?:
            guard (1...16).contains(entries.count) else { throw .payload }
            var events: [Event] = []
            for entry in entries { events.append(try Event(entry, issuedAt: issuedAt)) }
            return events
        case .object?: return [try Event(claim ?? .null, issuedAt: issuedAt)]
        default: throw .payload
        }
    }
}

extension AppleNotification.Event {
    fileprivate init(_ json: StrictJSON, issuedAt: Date) throws(TokenProblem) {
        guard let type = json["type"]?.text, (1...64).contains(type.utf8.count),
            let sub = json["sub"]?.text, (1...255).contains(sub.utf8.count)
        else { throw .payload }
        self.type = AppleNotification.EventType(type)
        self.sub = sub
        occurredAt = try Self.time(json["event_time"], issuedAt: issuedAt)
        email = json["email"]?.text.flatMap { (1...320).contains($0.utf8.count) ? $0 : nil }
        isPrivateEmail = json["is_private_email"]?.truth
    }

    /// Milliseconds in every captured notification, seconds on Apple's page; told apart by size.
    private static func time(_ claim: StrictJSON?, issuedAt: Date) throws(TokenProblem) -> Date {
        guard let claim else { return issuedAt }
        guard let value = claim.numeric, (0..<1e14).contains(value) else { throw .payload }
        return Date(timeIntervalSince1970: value > 1e11 ? value / 1000 : value)
    }
}

extension AppleClients {
    /// Verifies the body of a notification request, fetching Apple's keys where needed.
    ///
    /// - Parameter body: The request's body.
    /// - Returns: The notification, or why it is not believed.
    /// - Throws: `CancellationError`.
    package func verify(notification body: [UInt8]) async throws(CancellationError)
        -> Result<AppleNotification, TokenProblem>
    {
        let audiences = Set(clientIDs)
        // Without a set at hand nothing is fetched for a body that is not even a signed token.
        var keySet = AppleKeySet?.none
        for isLastTry in [false, true] {
            switch AppleNotification.verify(body: body, keys: keySet, audiences: audiences, now: moment) {
            case .verified(let notification): return .success(notification)
            case .refused(let problem): return .failure(problem)
            case .unknownKey(let keyID):
                if isLastTry { break }
                keySet = try await keys.set(having: keyID)
            }
        }
        return .failure(keySet == nil ? .keysUnavailable : .unknownKey)
    }
}
