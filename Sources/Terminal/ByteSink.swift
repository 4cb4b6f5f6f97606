#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A destination for text: a descriptor in the program, memory in tests.
package protocol ByteSink: Sendable {
    /// Writes the whole text before it returns.
    ///
    /// - Throws: ``OutputClosed`` if the reader has gone, ``OutputFailed`` if the text could not be written.
    func write(_ text: String) throws

    /// Throws ``OutputClosed`` if the reader has gone, as far as that can be detected without writing.
    func checkReader() throws
}

extension ByteSink {
    package func checkReader() throws {}
}

/// The reader of the output has closed its end, as `head` does.
package struct OutputClosed: Error {
    init() {}
}

/// The output could not be written, for example because the disk is full.
package struct OutputFailed: Error, CustomStringConvertible {
    package let code: Int32

    init(code: Int32) {
        self.code = code
    }

    package var description: String { "cannot write the output: \(String(cString: strerror(code)))" }
}

/// A sink for a descriptor, which its opener closes after the last use.
package struct DescriptorSink: ByteSink {
    private let descriptor: Int32

    package init(descriptor: Int32) {
        self.descriptor = descriptor
    }

    package func write(_ text: String) throws {
        var text = text
        let failure = text.withUTF8 { bytes -> (any Error)? in
            var rest = UnsafeRawBufferPointer(bytes)[...]
            while !rest.isEmpty {
                let written = systemWrite(descriptor, UnsafeRawBufferPointer(rebasing: rest))
                if written >= 0 {
                    rest = rest.dropFirst(written)
                } else if errno == EAGAIN {
                    // The shared terminal was made non-blocking by another process: wait until it accepts more.
                    var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                    _ = poll(&ready, 1, -1)
                } else if errno == EPIPE {
                    return OutputClosed()
                } else if errno != EINTR {
                    return OutputFailed(code: errno)
                }
            }
            return nil
        }
        if let failure { throw failure }
    }

    package func checkReader() throws {
        var state = pollfd(fd: descriptor, events: 0, revents: 0)
        // When the reader of a pipe is gone, Linux reports POLLERR, and other systems report POLLHUP.
        if poll(&state, 1, 0) > 0, state.revents & Int16(POLLERR | POLLHUP) != 0 { throw OutputClosed() }
    }
}

private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    write(descriptor, bytes.baseAddress, bytes.count)
}
