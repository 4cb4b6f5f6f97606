import Foundation
import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The output of a process to one of its streams, readable as it comes.
final class CapturedOutput: Sendable {
    private struct State {
        var bytes: [UInt8] = []
        var hasEnded = false
        var watchers: [AsyncStream<Void>.Continuation] = []
    }

    private let state = Mutex(State())
    private let reading: Int32

    /// The end to which the process writes, to be closed by whoever started the process once that has it.
    let writing: FileHandle

    /// Makes a pipe and reads it on a thread of its own.
    init() throws {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw CocoaError(.fileReadUnknown) }
        // A process that is started at the same time must not inherit the ends: the stream would not end with this one.
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        reading = ends[0]
        writing = FileHandle(fileDescriptor: ends[1], closeOnDealloc: true)
        Thread.detachNewThread { self.read() }
    }

    /// The output so far.
    var text: String { state.withLock { String(decoding: $0.bytes, as: UTF8.self) } }

    /// Waits until `isEnough` accepts the text so far; false if the stream ended before.
    ///
    /// - Throws: `CancellationError`.
    func wait(until isEnough: (String) -> Bool) async throws -> Bool {
        let (changes, change) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        state.withLock { state in
            if state.hasEnded { change.finish() } else { state.watchers.append(change) }
        }
        if isEnough(text) { return true }
        for await _ in changes where isEnough(text) { return true }
        try Task.checkCancellation()
        return isEnough(text)
    }

    /// Treats the stream as ended, even if a process still holds it.
    func end() {
        let watchers = state.withLock { state in
            state.hasEnded = true
            defer { state.watchers = [] }
            return state.watchers
        }
        for watcher in watchers { watcher.finish() }
    }

    private func read() {
        defer { close(reading) }
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = systemRead(reading, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return end() }
            let watchers = state.withLock { state in
                state.bytes += buffer[..<count]
                return state.watchers
            }
            for watcher in watchers { watcher.yield() }
        }
    }
}

// Within the class, `read` means the method.
private func systemRead(_ descriptor: Int32, _ buffer: UnsafeMutablePointer<UInt8>, _ count: Int) -> Int {
    read(descriptor, buffer, count)
}
