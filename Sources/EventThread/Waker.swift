#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A pipe that ends a wait in `poll`.
///
/// A pipe is used instead of an eventfd because Swift's Glibc module lacks `eventfd`. A C target for that one call
/// would gain nothing, since the pipe is written only when the thread sleeps, and the same code serves macOS.
final class Waker: Sendable {
    /// The read end, to poll.
    let readEnd: Int32

    private let writeEnd: Int32

    init() throws(EventThreadError) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw EventThreadError(call: "pipe", number: errno) }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        readEnd = ends[0]
        writeEnd = ends[1]
    }

    deinit {
        close(readEnd)
        close(writeEnd)
    }

    /// Makes the read end readable.
    ///
    /// Callable from any thread.
    func signal() {
        var byte: UInt8 = 1
        // A full pipe does as well: the reader wakes either way.
        while write(writeEnd, &byte, 1) < 0 && errno == EINTR {}
    }

    /// Consumes all signals so far.
    func drain() {
        var scrap: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
        while true {
            let count = read(readEnd, &scrap, 32)
            if count == 32 || (count < 0 && errno == EINTR) { continue }
            return
        }
    }
}
