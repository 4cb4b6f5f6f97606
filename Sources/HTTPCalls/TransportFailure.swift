import AsyncHTTPClient
import NIOCore
import NIOPosix
import NIOSSL

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Derives from the transport's errors whether anything was sent.
///
/// An error that is not known to occur before sending counts as interrupted: wrongly assuming that nothing was sent
/// would repeat a call that must not be repeated.
enum TransportFailure {
    static func outcome(of error: any Error) -> HTTPOutcome {
        switch error {
        case let error as HTTPClientError: outcome(of: error)
        case let error as NIOConnectionError: .unreachable(reason(of: error))
        case ChannelError.connectTimeout: .unreachable(.connectTimedOut)
        case let error as IOError where isRefusal(error): .unreachable(.refused)
        // The trust roots are loaded before the connection is secured, and the certificate and its name are checked
        // before anything is sent.
        case BoringSSLError.unknownError, NIOSSLError.handshakeFailed, NIOSSLError.noCertificateToValidate,
            NIOSSLError.unableToValidateCertificate:
            .unreachable(.tlsFailed)
        case let error as NIOSSLExtraError where namesNobody(error): .unreachable(.tlsFailed)
        default: .interrupted
        }
    }

    private static func outcome(of error: HTTPClientError) -> HTTPOutcome {
        switch error {
        case .connectTimeout, .getConnectionFromPoolTimeout, .socksHandshakeTimeout, .httpProxyHandshakeTimeout:
            .unreachable(.connectTimedOut)
        case .tlsHandshakeTimeout: .unreachable(.tlsFailed)
        case .deadlineExceeded, .readTimeout, .writeTimeout: .timedOut
        case .alreadyShutdown: .unreachable(.clientUnavailable)
        default: .interrupted
        }
    }

    private static func reason(of error: NIOConnectionError) -> HTTPOutcome.Unreachable {
        guard !error.connectionErrors.isEmpty else { return .unknownHost }
        let timedOut = error.connectionErrors.allSatisfy {
            if case ChannelError.connectTimeout = $0.error { true } else { false }
        }
        return timedOut ? .connectTimedOut : .refused
    }

    /// Whether the host name is at fault, which is checked before anything is sent.
    private static func namesNobody(_ error: NIOSSLExtraError) -> Bool {
        [
            .failedToValidateHostname, .serverHostnameImpossibleToMatch, .cannotUseIPAddressInSNI, .invalidSNIHostname,
        ].contains(error)
    }

    private static func isRefusal(_ error: IOError) -> Bool {
        [ECONNREFUSED, ENETUNREACH, EHOSTUNREACH].contains(error.errnoCode)
    }
}
