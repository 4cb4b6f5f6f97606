package import Foundation
package import HTTPCalls
package import Logging
package import Sandbox
import Sealing
package import SignInWithApple
import TestSupport

extension AppleClients {
    /// Makes clients of the simulated Apple, with its first developer's key unless `key` is given.
    package init(
        of sandbox: Sandbox,
        _ ids: [String],
        key: DeveloperKey? = nil,
        caller: HTTPCaller,
        deadline: Duration = .seconds(30),
        logger: Logger? = nil,
        now: @escaping @Sendable () -> Date = { Date() }
    ) throws {
        let key = key ?? sandbox.apple.developerKey
        try self.init(
            ids.map { id in
                try AppleClientIdentity(
                    clientID: id,
                    teamID: key.teamID,
                    keyID: key.keyID,
                    key: ApplePrivateKey(parsing: Secret(key.privateKey))
                )
            },
            address: ServiceAddress(sandbox.baseURL),
            caller: caller,
            deadline: deadline,
            logger: logger ?? .silent,
            now: now
        )
    }
}
