import TestSupport
import Testing

@testable import MailRelay

@Suite("DNS messages")
struct DNSMessageTests {
    let question = Question(Self.name("www.example.com"), .txt)

    static func name(_ text: String) -> DomainName { (try? DomainName(dotted: text)) ?? .root }

    @Test("a reply with an alias, texts and EDNS is read in full")
    func reply() throws {
        var builder = MessageBuilder(question)
        builder.flags |= 0x0020
        // The alias's owner is a pointer to the question; its target ends in a pointer to "example.com".
        builder.answers.append(
            MessageBuilder.record([0xC0, 12], .cname, ttl: 60, [4] + Array("text".utf8) + [0xC0, 16])
        )
        builder.answers.append(
            MessageBuilder.record(
                MessageBuilder.name("text.example.com"),
                .txt,
                MessageBuilder.text([[0xFF, 0x41], [], [0x20]])
            )
        )
        builder.additionals.append(
            MessageBuilder.record([0], .opt, ttl: 0, [0, 15, 0, 6] + [0, 6] + Array("sig!".utf8))
        )
        let message = try DNSMessage(builder.bytes)
        #expect(message.edns?.errors == [DNSMessage.ExtendedError(code: 6, text: "sig!")])
        let reading = ReplyInterpreter.read(builder.bytes, to: question)
        let answer = LookupOutcome.Answer(
            records: [.text([[0xFF, 0x41], [], [0x20]])],
            ttl: 60,
            chain: [Self.name("text.example.com")],
            authenticated: true
        )
        #expect(reading == .settled(.records(answer)))
    }

    @Test("missing data and each kind of failure are told apart")
    func outcomes() {
        func outcome(_ change: (inout MessageBuilder) -> Void) -> ReplyInterpreter.Reading {
            var builder = MessageBuilder(question)
            change(&builder)
            return ReplyInterpreter.read(builder.bytes, to: question)
        }
        #expect(
            outcome { $0.authorities.append(MessageBuilder.soa("example.com", minimum: 77)) }
                == .settled(.noData(LookupOutcome.Absence(ttl: 77)))
        )
        #expect(
            outcome {
                $0.flags |= 3
                $0.answers.append(MessageBuilder.record([0xC0, 12], .cname, MessageBuilder.name("gone.example.net")))
                $0.authorities.append(MessageBuilder.soa("example.net", minimum: 5000))
            } == .settled(.nxDomain(LookupOutcome.Absence(ttl: 900, chain: [Self.name("gone.example.net")])))
        )
        #expect(outcome { $0.flags |= 2 } == .settled(.serverFailure(LookupOutcome.ServerFailure())))
        #expect(outcome { $0.flags |= 5 } == .settled(.refused))
        #expect(outcome { $0.flags |= 4 } == .settled(.badReply(.responseCode(4))))
        #expect(outcome { $0.flags &= 0x7FFF } == .settled(.badReply(.notAReply)))
        #expect(outcome { $0.flags |= 0x0200 } == .settled(.badReply(.truncated)))
        #expect(outcome { $0.questions = [] } == .settled(.badReply(.anotherQuestion)))
        #expect(
            outcome {
                $0.questions = []
                $0.ask(Question(Self.name("www.example.com"), .a))
            } == .settled(.badReply(.anotherQuestion))
        )
        #expect(
            outcome {
                $0.flags &= ~0x0080
                $0.authorities.append(MessageBuilder.record([0], .ns, MessageBuilder.name("a.root.test")))
            } == .settled(.badReply(.referral))
        )
        #expect(
            outcome { $0.answers.append(MessageBuilder.record([0xC0, 12], .cname, MessageBuilder.name("b.test"))) }
                == .continues(chain: [Self.name("b.test")], ttl: 300)
        )
    }

    @Test("loops of aliases and very long chains of them end")
    func aliases() {
        var loop = MessageBuilder(question)
        loop.answers.append(MessageBuilder.record([0xC0, 12], .cname, MessageBuilder.name("b.test")))
        loop.answers.append(MessageBuilder.record(MessageBuilder.name("b.test"), .cname, [0xC0, 12]))
        #expect(
            ReplyInterpreter.read(loop.bytes, to: question)
                == .settled(.badReply(.aliasLoop([question.name, Self.name("b.test"), question.name])))
        )
        var long = MessageBuilder(question)
        long.answers.append(MessageBuilder.record([0xC0, 12], .cname, MessageBuilder.name("n0.test")))
        for index in 0..<40 {
            long.answers.append(
                MessageBuilder.record(
                    MessageBuilder.name("n\(index).test"),
                    .cname,
                    MessageBuilder.name("n\(index + 1).test")
                )
            )
        }
        #expect(ReplyInterpreter.read(long.bytes, to: question) == .settled(.badReply(.aliasChainTooLong)))
    }

    @Test("compression pointers that do not point backwards are refused")
    func pointers() {
        func error(_ owner: [UInt8]) -> DNSMessageError? {
            var builder = MessageBuilder(question)
            builder.answers.append(MessageBuilder.record(owner, .a, [1, 2, 3, 4]))
            do {
                _ = try DNSMessage(builder.bytes)
                return nil
            } catch { return error }
        }
        let start = UInt8(12 + question.name.wire.count + 5)
        #expect(error([0xC0, start]) == .pointerNotBackwards)
        #expect(error([1, 0x61, 0xC0, start]) == .pointerNotBackwards)
        #expect(error([0xC0, start + 4]) == .pointerNotBackwards)
        #expect(error([0xFF, 0xFF]) == .pointerNotBackwards)
        #expect(error([0x40, 0]) == .unknownLabelType)
        #expect(error([0xC0, 12]) == nil)
    }

    @Test("records whose data does not fit their type are refused")
    func malformedData() {
        func error(_ type: RecordType, _ data: [UInt8]) -> DNSMessageError? {
            var builder = MessageBuilder(question)
            builder.answers.append(MessageBuilder.record([0xC0, 12], type, data))
            do {
                _ = try DNSMessage(builder.bytes)
                return nil
            } catch { return error }
        }
        #expect(error(.a, [1, 2, 3]) == .malformedData(.a))
        #expect(error(.aaaa, [UInt8](repeating: 0, count: 17)) == .malformedData(.aaaa))
        #expect(error(.txt, [5, 1, 2]) == .malformedData(.txt))
        #expect(error(.mx, [0, 1]) == .tooShort)
        #expect(error(.cname, [0xC0, 12, 0]) == .malformedData(.cname))
        #expect(error(.txt, []) == nil)
    }

    @Test("a TXT set of 64 kB is read with its boundaries")
    func largeText() throws {
        var builder = MessageBuilder(question)
        let strings = (0..<255).map { [UInt8](repeating: UInt8($0), count: 255) }
        builder.answers.append(MessageBuilder.record([0xC0, 12], .txt, MessageBuilder.text(strings)))
        let message = try DNSMessage(builder.bytes)
        #expect(message.answers[0].data == .text(strings))
    }

    @Test("any bytes give a message or an error, never a crash or a hang")
    func fuzz() {
        var generator = SeededRandom(seed: 0xC0FFEE)
        var builder = MessageBuilder(question)
        builder.answers.append(MessageBuilder.record([0xC0, 12], .cname, [1, 0x62, 0xC0, 16]))
        builder.answers.append(MessageBuilder.record([0xC0, 12], .mx, [0, 5, 0xC0, 12]))
        builder.answers.append(MessageBuilder.record([0xC0, 12], .txt, MessageBuilder.text([[1, 2, 3], [4]])))
        builder.authorities.append(MessageBuilder.soa("example.com", minimum: 1))
        builder.additionals.append(MessageBuilder.record([0], .opt, [0, 15, 0, 2, 0, 6]))
        let valid = builder.bytes
        var parsed = 0
        for round in 0..<40_000 {
            var bytes =
                round % 4 == 0
                ? (0..<Int.random(in: 0...80, using: &generator)).map { _ in
                    UInt8.random(in: 0...255, using: &generator)
                } : valid
            for _ in 0..<Int.random(in: 0...4, using: &generator) where !bytes.isEmpty {
                let index = Int.random(in: 0..<bytes.count, using: &generator)
                switch Int.random(in: 0..<4, using: &generator) {
                case 0: bytes[index] = UInt8.random(in: 0...255, using: &generator)
                case 1: bytes[index] = 0xC0
                case 2: bytes.removeSubrange(index...)
                default: bytes.insert(UInt8.random(in: 0...255, using: &generator), at: index)
                }
            }
            if (try? DNSMessage(bytes)) != nil { parsed += 1 }
            _ = ReplyInterpreter.read(bytes, to: question)
        }
        #expect(parsed > 1000 && parsed < 39_000)
    }

    @Test("a query holds the question, the flags and EDNS at its end")
    func query() throws {
        let bytes = DNSQuery(question, checkingDisabled: true).bytes(id: 7)
        let message = try DNSMessage(bytes)
        #expect(message.id == 7)
        #expect(message.flags == 0x0130)
        #expect(message.questions.count == 1 && message.questions[0] == (question, 1))
        #expect(message.edns != nil)
        #expect(bytes.suffix(11) == [0, 0, 41, 0x04, 0xD0, 0, 0, 0, 0, 0, 0])
    }
}
