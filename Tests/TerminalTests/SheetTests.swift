import Foundation
import Terminal
import Testing

@Suite("The details of one object")
struct SheetTests {
    @Test func sheet() throws {
        let sheet = Sheet([
            .init(
                .facts([
                    .init("id", "Id", "u1"),
                    .init("email", "E-mail", .personal("bob@x.de", .email)),
                    .init("deleted_at", "Deleted", nil),
                    .init("factors", "Factors", .list([])),
                    .init("claims", "Claims", .object([:])),
                ])
            ),
            .init(
                "steps",
                title: "Steps",
                .table(
                    [TableColumn("Name"), TableColumn("State")],
                    rows: [["lock", "done"]],
                    names: ["name", "state"]
                )
            ),
        ])
        let sink = MemorySink()
        let messages = Messages(style: .plain, sink: MemorySink())
        try Output(format: .table, style: .plain, sink: sink, messages: messages).show(sheet)
        #expect(sink.text == "Id      u1\nE-mail  b***@x***.de\n\nSteps\n  NAME  STATE\n  lock  done\n")
        let json = MemorySink()
        try Output(format: .ndjson(fields: nil), style: .plain, disclosure: .revealed, sink: json, messages: messages)
            .show(sheet)
        #expect(
            json.text
                == #"{"claims":{},"deleted_at":null,"email":"bob@x.de","factors":[],"id":"u1","steps":[{"name":"lock","state":"done"}]}"#
                + "\n"
        )
    }

    @Test("Several objects are screens with a blank line between them")
    func screens() throws {
        let sink = MemorySink()
        let messages = Messages(style: .plain, sink: MemorySink())
        let sheets = ["news", "mail"].map { Sheet(facts: [.init("name", "Stream", .text($0)), .init("n", "No", 1)]) }
        try Output(format: .table, style: .plain, sink: sink, messages: messages).screen(sheets)
        #expect(sink.text == "Stream  news\nNo      1\n\nStream  mail\nNo      1\n")
    }

    @Test("An object is one row whose cells do not depend on the facts that there are")
    func row() throws {
        func shown(_ format: OutputFormat, _ profile: [Sheet.Fact]) throws -> String {
            let sink = MemorySink()
            let sheet = Sheet([
                .init(.facts([.init("id", "Id", "u1")])),
                .init("auth", .facts([.init("email", "E-mail", nil), .init("phone", "Phone", "+49")])),
                .init("profile", isOpen: true, .facts(profile)),
                .init("jobs", .table([], rows: [], names: [])),
            ])
            try Output(format: format, style: .plain, sink: sink, messages: Messages(style: .plain, sink: MemorySink()))
                .show(sheet)
            return sink.text
        }
        #expect(try shown(.csv(fields: nil), []) == "id,auth.email,auth.phone,profile,jobs\nu1,,+49,{},[]\n")
        let named = [Sheet.Fact("name", "Name", "Anna")]
        #expect(try shown(.tsv(fields: nil), named) == "u1\t\t+49\t{\"name\":\"Anna\"}\t[]\n")
        #expect(try shown(.csv(fields: ["auth.phone", "id"]), []) == "auth.phone,id\n+49,u1\n")
        #expect(try shown(.tsv(fields: ["auth"]), []) == "\t+49\n")
        #expect(try shown(.csv(fields: ["aut", "id"]), []) == "aut,id\n,u1\n")
        #expect(try shown(.ndjson(fields: ["aut", "id"]), []) == #"{"aut":null,"id":"u1"}"# + "\n")
    }
}
