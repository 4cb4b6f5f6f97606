import HTTPCalls
import ObjectStorage
import TestSupport
import Testing

@Suite("Objects are read in parts", .timeLimit(.minutes(5)))
struct StorageReadingTests {
    private static func part(_ text: String, _ range: String, tag: String = "v1") -> LyingServer.Act {
        LyingServer.reply("206 Partial Content", text, headers: "Content-Range: bytes \(range)\r\nETag: \"\(tag)\"\r\n")
    }

    /// Reads an object in parts until its end or the first failure.
    ///
    /// - Returns: The text read so far, the `Range` header of each request, and how the reading ended.
    private func read(_ acts: [LyingServer.Act]) async throws -> (text: String, ranges: [String?], end: String) {
        let object = try ObjectAddress(bucket: "b", key: "a")
        return try await StorageClient.with({ number, _ in acts[min(number, acts.count) - 1] }) { client, server in
            var text = ""
            var cursor: StoragePart.Cursor?
            var end = "whole"
            loop: repeat {
                switch try await client.read(object, from: cursor, limit: 4) {
                case .done(let part):
                    text += String(decoding: part.bytes, as: UTF8.self)
                    cursor = part.next
                case .gone: (end, cursor) = ("gone", nil)
                case .misconfigured(let refusal): (end, cursor) = ("\(refusal)", nil)
                case .later(let delay): (end, cursor) = ("\(delay)", nil)
                }
            } while cursor != nil
            return (text, server.received.map { $0.header("Range") }, end)
        }
    }

    private static let long = LyingServer.reply("200 OK", String(repeating: "a", count: 70_000))

    /// The replies before the first part of an object of ten bytes.
    private static let start = [long, part("0", "0-0/10")]

    @Test("A short or empty object is read with one request, and no range is requested that may not exist")
    func short() async throws {
        for text in ["", "0123"] {
            let (read, ranges, end) = try await read([LyingServer.reply("200 OK", text)])
            #expect(read == text && end == "whole" && ranges == [nil])
        }
    }

    @Test("A long object is read part by part to its end and no further")
    func parts() async throws {
        let parts = [Self.part("0123", "0-3/10"), Self.part("4567", "4-7/10"), Self.part("89", "8-9/10")]
        for whole in [Self.long, LyingServer.reply("200 OK", "0123456789")] {
            let (text, ranges, end) = try await read([whole, Self.start[1]] + parts)
            #expect(text == "0123456789" && end == "whole")
            #expect(ranges == [nil, "bytes=0-0", "bytes=0-3", "bytes=4-7", "bytes=8-9"])
        }
    }

    @Test("From a server without range requests, nothing of an object that is too long is read")
    func whole() async throws {
        let long = try await read([Self.long])
        #expect(long.text.isEmpty && long.end.contains("not understood"))
        let late = try await read(Self.start + [Self.part("0123", "0-3/10"), LyingServer.reply("200 OK", "0123")])
        #expect(late.end.contains("not understood"))
    }

    @Test("Parts of two versions are never combined, nor parts that were not requested")
    func mixture() async throws {
        let first = Self.start + [Self.part("0123", "0-3/10")]
        for other in [Self.part("4567", "4-7/10", tag: "v2"), Self.part("4567", "4-7/9")] {
            #expect(try await read(first + [other]).end.contains("was replaced"))
        }
        #expect(try await read(Self.start + [Self.part("0123", "0-3/10", tag: "v2")]).end.contains("was replaced"))
        for lie in [
            Self.part("0123", "0-3/10"), Self.part("456", "4-7/10"), Self.part("456", "4-6/10"),
            Self.part("4567", "4-7/*"), Self.part("4567", "x"), LyingServer.reply("206 Partial Content", "4567"),
        ] { #expect(try await read(first + [lie]).end.contains("not understood")) }
        for lie in [Self.part("0123", "0-3/10"), Self.part("", "0-0/10"), Self.part("0", "0-0/0")] {
            #expect(try await read([Self.long, lie]).end.contains("not understood"))
        }
        let gone = #"{"statusCode":"404","error":"not_found","message":"Object not found","code":"NoSuchKey"}"#
        #expect(try await read(first + [LyingServer.reply("400 Bad Request", gone)]).end == "gone")
    }
}
