import MailRelay
import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A name server on loopback for the measurements: UDP only, with answers from one table, measuring its own CPU time.
final class RelayNameServer: Sendable {
    /// The port it listens on.
    let port: UInt16
    private let descriptor: Int32
    private let records: [Question: [[UInt8]]]
    /// The delay of each answer, simulating a network; nil never answers.
    private let delay: Duration?
    private let stopped = Atomic(false)
    private let figures = Mutex(Figures())

    private struct Figures {
        var processorSeconds = 0.0
        var mostWaiting = 0
        var queries = 0
    }

    /// The CPU time of the server's own thread, in seconds.
    var processorSeconds: Double { figures.withLock { $0.processorSeconds } }
    /// The largest number of questions waiting for their answers at one time.
    var mostWaiting: Int { figures.withLock { $0.mostWaiting } }
    /// The number of questions received.
    var queries: Int { figures.withLock { $0.queries } }

    /// The server's address.
    var address: NameServer { NameServer(address: .v4(IPv4Address(rawValue: 0x7F00_0001)), port: port) }

    /// Runs `body` with a server that answers from `records`: answer records in wire form, without the owner name.
    static func withServer<Result>(
        _ records: [Question: [[UInt8]]],
        delay: Duration? = .zero,
        _ body: (RelayNameServer) async throws -> Result
    ) async throws -> Result {
        let server = try RelayNameServer(records, delay)
        let context = Unmanaged.passRetained(server)
        var thread = pthread_t()
        guard pthread_create(&thread, nil, runNameServer, context.toOpaque()) == 0 else {
            context.release()
            throw BenchmarkError("no thread for the name server")
        }
        do {
            let result = try await body(server)
            server.stop(thread)
            return result
        } catch {
            server.stop(thread)
            throw error
        }
    }

    private func stop(_ thread: pthread_t) {
        stopped.store(true, ordering: .releasing)
        pthread_join(thread, nil)
        close(descriptor)
    }

    private init(_ records: [Question: [[UInt8]]], _ delay: Duration?) throws {
        self.records = records
        self.delay = delay
        descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        var size: Int32 = 4 << 20
        setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                bind(descriptor, generic, length) == 0 && getsockname(descriptor, generic, &length) == 0
            }
        }
        guard isBound else { throw BenchmarkError("the name server found no port") }
        port = UInt16(bigEndian: address.sin_port)
    }

    private struct Waiting {
        let due: ContinuousClock.Instant
        let reply: [UInt8]
        let client: sockaddr_in
    }

    fileprivate func run() {
        var waiting: [Waiting] = []
        while !stopped.load(ordering: .acquiring) {
            var slot = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            if poll(&slot, 1, waiting.isEmpty ? 20 : 1) > 0, let arrived = receive() {
                waiting.append(arrived)
                let count = waiting.count
                figures.withLock { figures in
                    figures.queries += 1
                    figures.mostWaiting = max(figures.mostWaiting, count)
                }
            }
            guard delay != nil else { continue }
            let now = ContinuousClock.now
            while let first = waiting.first, first.due <= now {
                send(first)
                waiting.removeFirst()
            }
            var used = timespec()
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used)
            let seconds = Double(used.tv_sec) + Double(used.tv_nsec) * 1e-9
            figures.withLock { $0.processorSeconds = seconds }
        }
    }

    private func receive() -> Waiting? {
        var buffer = [UInt8](repeating: 0, count: 1500)
        var client = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let count = withUnsafeMutablePointer(to: &client) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                recvfrom(descriptor, &buffer, buffer.count, 0, generic, &length)
            }
        }
        guard count > 0, let query = try? DNSMessage(Array(buffer[..<count])),
            let question = query.questions.first?.question
        else { return nil }
        return Waiting(
            due: .now.advanced(by: delay ?? .zero),
            reply: reply(to: question, id: query.id),
            client: client
        )
    }

    private func reply(to question: Question, id: UInt16) -> [UInt8] {
        func word(_ value: UInt16) -> [UInt8] { [UInt8(value >> 8), UInt8(value & 255)] }
        let answers = records[question] ?? []
        // Names in the table without this type have no data; all other names get the same answer, which suffices here.
        var bytes = word(id) + word(0x8180) + word(1) + word(UInt16(answers.count)) + word(0) + word(0)
        bytes += question.name.wire + [0] + word(question.type.rawValue) + word(1)
        for data in answers {
            bytes +=
                [0xC0, 12] + word(question.type.rawValue) + word(1) + [0, 0, 1, 44] + word(UInt16(data.count)) + data
        }
        return bytes
    }

    private func send(_ waiting: Waiting) {
        var client = waiting.client
        withUnsafePointer(to: &client) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                _ = sendto(
                    descriptor,
                    waiting.reply,
                    waiting.reply.count,
                    0,
                    generic,
                    socklen_t(MemoryLayout<sockaddr_in>.size)
                )
            }
        }
    }
}

/// The thread's entry point; file-level, since a closure would inherit an isolation it does not run in.
private func runNameServer(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context else { return nil }
    Unmanaged<RelayNameServer>.fromOpaque(context).takeRetainedValue().run()
    return nil
}
