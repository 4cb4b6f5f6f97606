import HTTPCalls

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

extension AppleClients {
    /// A client id that Apple rejects.
    package struct Rejection: Sendable, Hashable {
        /// The team id in use.
        package let teamID: String
        /// The key id in use.
        package let keyID: String
        /// Apple's refusal.
        package let refusal: String
        /// When the client id is tested again.
        package let until: Date
    }

    /// The client ids that are paused in this process or being tested again.
    package func rejections() -> [String: Rejection] {
        var rejections: [String: Rejection] = [:]
        for id in clientIDs {
            guard let client = self[id] else { continue }
            let health = breakers.health(of: id)
            let until: Date
            switch health.state {
            case .closed: continue
            case .open(let end, _): until = end
            case .halfOpen(let since, _): until = since
            }
            rejections[id] = Rejection(
                teamID: client.identity.teamID,
                keyID: client.identity.keyID,
                refusal: health.refusal?.description ?? AppleRefusal.Code.invalidClient.text,
                until: until
            )
        }
        return rejections
    }

    /// Pauses a client id that another process found rejected; an existing pause of this process is kept.
    ///
    /// The client id is tested again at `until`; if that is in the past, the next call tests it.
    package func pause(_ clientID: String, until: Date, refusal: String) {
        breakers.trip(clientID, until: until, refusal: refusal, at: moment)
    }

    /// Ends the pause of a client id that another process found to be accepted again.
    package func resume(_ clientID: String) {
        breakers.reset(clientID)
    }
}
