import AsyncHTTPClient
import NIOCore
import NIOPosix
import NIOSSL

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Tells from the transport's errors whether anything was sent.
///
/// Whatever is not known to have happened before the request left counts as interrupted: to believe that nothing was
/// sent when something was would repeat what must not be repeated.
enum TransportFailure {
    static func outcome(of error: any Error) -> HTTPOutcome {
        switch error {
        case let error as HTTPClientError: outcome(of: error)
        case let error as NIOConnectionError: .unreachable(reason(of: error))
        case ChannelError.connectTimeout: .unreachable(.connectTimedOut)
        case let error as IOError where isRefusal(error): .unreachable(.refused)
        // The authorities are read before a connection is secured, and the certificate and its name before anything is
        // sent.
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

    /// Whether the name is at fault, which is compared before anything is sent.
    private static func namesNobody(_ error: NIOSSLExtraError) -> Bool {
        [
            .failedToValidateHostname, .serverHostnameImpossibleToMatch, .cannotUseIPAddressInSNI, .invalidSNIHostname,
        ].contains(error)
    }

    private static func isRefusal(_ error: IOError) -> Bool {
        [ECONNREFUSED, ENETUNREACH, EHOSTUNREACH].contains(error.errnoCode)
    }
}
