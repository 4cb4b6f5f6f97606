import AccountLifecycle
import ArgumentParser

/// What became of a request's credentials at Apple, on the command line: of other steps other things become.
enum AppleOutcome: String, CaseIterable, ExpressibleByArgument {
    case revoked
    case notHeld = "not_held"
    case pending
    case notRevoked = "not_revoked"
    case grantUnknown = "grant_unknown"

    /// It as a request has it.
    var outcome: StepOutcome {
        switch self {
        case .revoked: .revoked
        case .notHeld: .notHeld
        case .pending: .pending
        case .notRevoked: .notRevoked
        case .grantUnknown: .grantUnknown
        }
    }
}
