import NIOCore

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Why nobody can listen at an address.
package enum ListenerRefusal: Error, Sendable, Hashable {
    /// Another socket listens there.
    case taken
    /// It is another machine's.
    case elsewhere
    /// This user may not, as on ports below 1024.
    case forbidden
    /// The host's name leads to no address.
    case unknownHost

    /// The refusal that an error of a listener means; nil for others.
    init?(_ error: any Error) {
        switch error {
        case is SocketAddressError.UnknownHost: self = .unknownHost
        case let error as IOError:
            switch error.errnoCode {
            case EADDRINUSE: self = .taken
            case EADDRNOTAVAIL: self = .elsewhere
            case EACCES: self = .forbidden
            default: return nil
            }
        default: return nil
        }
    }
}
