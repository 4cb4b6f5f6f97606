import Foundation
import TestSupport
import Testing

@testable import SignInWithApple

/// Inputs that were never signed: none may be accepted, none may end the process.
///
/// Every run tries a million inputs of its own; `ACCOUNTCTL_FUZZ_INPUTS` changes the number, and `ACCOUNTCTL_FUZZ_SEED`
/// repeats a run.
@Suite struct NotificationFuzzTests {
    let inputs = ProcessInfo.processInfo.environment["ACCOUNTCTL_FUZZ_INPUTS"].flatMap { Int($0) } ?? 1_000_000
    let seed =
        ProcessInfo.processInfo.environment["ACCOUNTCTL_FUZZ_SEED"].flatMap { UInt64($0) }
        ?? UInt64.random(in: 0...UInt64.max)

    /// Pieces that reach every branch of the two parsers; a few of them in a row make an input.
    private static let pieces: [[UInt8]] =
        [
            "{", "}", "[", "]", "\"", ":", ",", "\\", "\\u", "d83d", "\\ude00", "\u{FF}", " ", "\n", "0", "-", ".", "e",
            "1e9",
            "true", "false", "null", "tru", "\"payload\"", "{\"payload\":\"", "\"}", "..", "eyJhbGciOiJub25lIn0",
            "eyJhbGciOiJSUzI1NiIsImtpZCI6ImZpcnN0LWtleSJ9", "e30", "AAAA", "===", "{\"payload\":\"a.b.c\"}", "\u{0}",
        ].map { Array($0.utf8) } + [[0xFF], [0xC0, 0xAF], [0xED, 0xA0, 0x80]]

    @Test func nothingUnsignedIsAccepted() async throws {
        let keys = try Signer.keySet(.first)
        let signed = Array(#"{"payload":"\#(try Signer.first.sign(Claims.notification()))"}"#.utf8)
        let share = inputs / 2
        // Two halves, one for each core of a small machine.
        try await withThrowingTaskGroup(of: Int.self) { group in
            for half in 0..<2 {
                group.addTask { @concurrent in
                    var random = SeededRandom(seed: seed &+ UInt64(half))
                    var refused = 0
                    for number in 0..<share {
                        // The threads are everybody's: tests beside this one have leases to keep.
                        if number & 0xFF == 0 { await Task.yield() }
                        // One in 256 is a signed body with a change somewhere, which costs a signature check.
                        let body =
                            number & 0xFF == 0
                            ? Self.mutation(of: signed, &random)
                            : Self.soup(&random)
                        let verdict = AppleNotification.verify(
                            body: body,
                            keys: keys,
                            audiences: ["com.example.app"],
                            arrived: Claims.now,
                            now: Claims.now
                        )
                        if case .verified = verdict {
                            Issue.record("seed \(seed): accepted \(String(decoding: body, as: UTF8.self))")
                            return refused
                        }
                        refused += 1
                    }
                    return refused
                }
            }
            var refused = 0
            for try await count in group { refused += count }
            #expect(refused == share * 2)
        }
    }

    /// The payload parser behind the signature, with payloads that Apple would have had to sign.
    @Test func signedNonsenseEndsNothing() async throws {
        var random = SeededRandom(seed: seed)
        let payload = Array(Claims.notification().utf8)
        var accepted = 0
        for number in 0..<min(inputs, 20_000) {
            if number & 0xFF == 0 { await Task.yield() }
            let text = Self.mutation(of: payload, &random)
            guard let json = try? StrictJSON(parsing: text), case .object = json else { continue }
            let read = try? AppleNotification(
                json,
                of: text,
                audiences: ["com.example.app"],
                arrived: Claims.now,
                now: Claims.now
            )
            if read != nil { accepted += 1 }
        }
        // A changed letter in a sub or a type is as good as another: most inputs fail, some must not.
        #expect(accepted > 0)
    }

    private static func soup(_ random: inout SeededRandom) -> [UInt8] {
        var bits = random.next()
        var body: [UInt8] = []
        for _ in 0..<(1 + Int(bits & 7)) {
            bits >>= 6
            body.append(contentsOf: pieces[Int(bits & 63) % pieces.count])
        }
        return body
    }

    private static func mutation(of bytes: [UInt8], _ random: inout SeededRandom) -> [UInt8] {
        var changed = bytes
        let position = Int(random.next() % UInt64(bytes.count))
        switch random.next() & 3 {
        case 0: changed[position] ^= UInt8(1 << (random.next() & 7))
        case 1: changed.removeSubrange(position...)
        case 2: changed.remove(at: position)
        default:
            let byte = UInt8(truncatingIfNeeded: random.next())
            // White space between tokens changes nothing.
            changed.insert([0x09, 0x0A, 0x0D, 0x20].contains(byte) ? 0x22 : byte, at: position)
        }
        return changed
    }
}
