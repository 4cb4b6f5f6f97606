import Foundation
import Synchronization
import TestSupport

/// A name server on loopback that answers from a zone written as text, for the program under test.
///
/// It shares no code with the program's own reader of DNS messages: tests would not notice a mistake in shared code.
///
/// A line is `name TYPE data`: types A, AAAA, MX, CNAME and TXT (its data is one text, cut into strings of 255 bytes);
/// the data `SERVFAIL` and `SILENT` stand for what a name server does instead of answering. UDP only.
final class ZoneServer: Sendable {
    /// Host and port, as `--resolver` takes them.
    var address: String { "127.0.0.1:\(port)" }

    private struct Record {
        let type: UInt16
        let data: [UInt8]
        let text: String
    }

    private struct BadLine: Error { let line: String }

    private static let types: [String: UInt16] = ["A": 1, "CNAME": 5, "MX": 15, "TXT": 16, "AAAA": 28]

    private let descriptor: Int32
    private let port: Int
    private let zone: Mutex<[String: [Record]]>
    private let isStopped = Atomic(false)

    /// Runs `body` with a server, and stops the server afterwards.
    static func withServer(_ zone: String, _ body: (ZoneServer) async throws -> Void) async throws {
        let server = try ZoneServer(zone)
        Thread { server.run() }.start()
        defer { server.isStopped.store(true, ordering: .releasing) }
        try await body(server)
    }

    private init(_ text: String) throws {
        zone = Mutex(try Self.read(text))
        (descriptor, port) = try Socket.bind(.datagrams)
    }

    /// Replaces the zone.
    func publish(_ text: String) throws {
        let records = try Self.read(text)
        zone.withLock { $0 = records }
    }

    private func run() {
        while !isStopped.load(ordering: .acquiring) {
            var slot = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&slot, 1, 20) > 0 else { continue }
            var buffer = [UInt8](repeating: 0, count: 2048)
            var sender = sockaddr_storage()
            var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
            withUnsafeMutablePointer(to: &sender) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                    let count = recvfrom(descriptor, &buffer, buffer.count, 0, generic, &length)
                    guard count > 12, let reply = reply(to: Array(buffer[..<count])) else { return }
                    _ = sendto(descriptor, reply, reply.count, 0, generic, length)
                }
            }
        }
        close(descriptor)
    }

    /// The reply to a query; nil for silence.
    private func reply(to query: [UInt8]) -> [UInt8]? {
        var labels: [String] = []
        var end = 12
        while end < query.count, query[end] > 0, query[end] < 64, end + Int(query[end]) < query.count {
            labels.append(String(decoding: query[(end + 1)...(end + Int(query[end]))], as: UTF8.self).lowercased())
            end += Int(query[end]) + 1
        }
        guard end + 5 <= query.count else { return nil }
        let type = UInt16(query[end + 1]) << 8 | UInt16(query[end + 2])
        var name = labels.joined(separator: ".")
        var answers: [[UInt8]] = []
        var code: UInt8 = 0
        let zone = zone.withLock { $0 }
        // A recursive server follows aliases; a few are enough.
        for _ in 0..<8 {
            guard let records = zone[name] else {
                code = 3
                break
            }
            if records.contains(where: { $0.text == "SILENT" }) { return nil }
            if records.contains(where: { $0.text == "SERVFAIL" }) {
                code = 2
                break
            }
            let matching = records.filter { $0.type == type }
            if matching.isEmpty, let alias = records.first(where: { $0.type == 5 }) {
                answers.append(Self.wire(name, alias))
                name = alias.text
                continue
            }
            answers += matching.map { Self.wire(name, $0) }
            break
        }
        return query[..<2] + [0x81, 0x80 | code, 0, 1] + Self.word(answers.count) + [0, 0, 0, 0]
            + query[12..<(end + 5)] + answers.flatMap { $0 }
    }

    private static func word(_ value: Int) -> [UInt8] { [UInt8(value >> 8 & 255), UInt8(value & 255)] }

    private static func wire(_ name: String) -> [UInt8] {
        name.split(separator: ".").flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) } + [0]
    }

    private static func wire(_ name: String, _ record: Record) -> [UInt8] {
        wire(name) + word(Int(record.type)) + [0, 1, 0, 0, 1, 44] + word(record.data.count) + record.data
    }

    private static func read(_ text: String) throws -> [String: [Record]] {
        var zone: [String: [Record]] = [:]
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: " ", maxSplits: 2).map(String.init)
            guard parts.count == 3, let type = types[parts[1]] else { throw BadLine(line: String(line)) }
            zone[parts[0], default: []].append(Record(type: type, data: try data(parts), text: parts[2]))
        }
        return zone
    }

    private static func data(_ parts: [String]) throws -> [UInt8] {
        let text = parts[2]
        if ["SERVFAIL", "SILENT"].contains(text) { return [] }
        switch parts[1] {
        case "A": return text.split(separator: ".").compactMap { UInt8($0) }
        case "AAAA":
            var address = in6_addr()
            guard inet_pton(AF_INET6, text, &address) == 1 else { throw BadLine(line: text) }
            return withUnsafeBytes(of: &address) { Array($0) }
        case "CNAME": return wire(text)
        case "MX":
            let words = text.split(separator: " ").map(String.init)
            guard words.count == 2, let preference = Int(words[0]) else { throw BadLine(line: text) }
            return word(preference) + wire(words[1])
        default:
            let bytes = Array(text.utf8)
            return stride(from: 0, to: bytes.count, by: 255).flatMap { start in
                let part = bytes[start..<min(start + 255, bytes.count)]
                return [UInt8(part.count)] + part
            }
        }
    }
}
