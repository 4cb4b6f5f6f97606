import HTTPCalls

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

extension AppleClients {
    /// A client id that Apple rejects.
    package struct Rejection: Sendable, Hashable {
        /// The team in use.
        package let teamID: String
        /// The key in use.
        package let keyID: String
        /// What Apple said.
        package let refusal: String
        /// When it is tested again.
        package let until: Date
    }

    /// The client ids that are paused here, or are being tested again.
    package func rejections() -> [String: Rejection] {
        var rejections: [String: Rejection] = [:]
        for id in clientIDs {
            guard let client = self[id] else { continue }
            let health = health(of: id)
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

    /// Pauses a client id that another process found rejected; a pause of our own stays as it is.
    ///
    /// The client id is tested again at `until`; a moment that has passed makes the next call test it.
    package func pause(_ clientID: String, until: Date, refusal: String) {
        breakers.trip(clientID, until: until, refusal: refusal, at: moment)
    }

    /// Ends the pause of a client id that another process found good.
    package func resume(_ clientID: String) {
        breakers.reset(clientID)
    }
}
