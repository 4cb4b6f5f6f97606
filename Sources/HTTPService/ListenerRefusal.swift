import NIOCore

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Why an address cannot be bound.
package enum ListenerRefusal: Error, Sendable, Hashable {
    /// Another socket listens on the address.
    case taken
    /// The address belongs to another machine.
    case elsewhere
    /// The user lacks permission, as for ports below 1024.
    case forbidden
    /// The host name has no address.
    case unknownHost

    /// The refusal that a listener's error means; nil for other errors.
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
