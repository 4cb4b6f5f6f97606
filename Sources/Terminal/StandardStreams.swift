#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The properties of the process's standard streams.
package enum StandardStreams {
    /// The descriptors by their usual names.
    package enum Stream: Int32, Sendable {
        case input = 0
        case output = 1
        case error = 2
    }

    /// Whether the stream is a terminal.
    package static func isTerminal(_ stream: Stream) -> Bool {
        isatty(stream.rawValue) == 1
    }

    /// The width of the stream's terminal in columns, if known.
    package static func columns(_ stream: Stream) -> Int? {
        size(stream).flatMap { $0.ws_col > 0 ? Int($0.ws_col) : nil }
    }

    /// The height of the stream's terminal in lines, if known.
    package static func rows(_ stream: Stream) -> Int? {
        size(stream).flatMap { $0.ws_row > 0 ? Int($0.ws_row) : nil }
    }

    private static func size(_ stream: Stream) -> winsize? {
        var size = winsize()
        return ioctl(stream.rawValue, UInt(TIOCGWINSZ), &size) == 0 ? size : nil
    }
}
