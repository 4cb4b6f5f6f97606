#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// What the process's own standard streams are.
package enum StandardStreams {
    /// The descriptors by their usual names.
    package enum Stream: Int32, Sendable {
        case input = 0
        case output = 1
        case error = 2
    }

    /// Whether a person sits at the stream.
    package static func isTerminal(_ stream: Stream) -> Bool {
        isatty(stream.rawValue) == 1
    }

    /// The columns of the terminal the stream leads to, if it says.
    package static func columns(_ stream: Stream) -> Int? {
        size(stream).flatMap { $0.ws_col > 0 ? Int($0.ws_col) : nil }
    }

    /// The lines of the terminal the stream leads to, if it says.
    package static func rows(_ stream: Stream) -> Int? {
        size(stream).flatMap { $0.ws_row > 0 ? Int($0.ws_row) : nil }
    }

    private static func size(_ stream: Stream) -> winsize? {
        var size = winsize()
        return ioctl(stream.rawValue, UInt(TIOCGWINSZ), &size) == 0 ? size : nil
    }
}
