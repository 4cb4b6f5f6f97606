import Foundation
import Terminal
import Testing

@Suite("Results in every format")
struct OutputTests {
    private struct Person {
        let id: Int
        let name: String
        let email: String?
    }

    private static let fields: [Field<Person>] = [
        Field("id", "ID", alignment: .right) { .integer($0.id) },
        Field("name", "Name") { .text($0.name) },
        Field("email", "E-mail") { .personal($0.email, .email) },
        Field("is_even", nil) { .bool($0.id % 2 == 0) },
    ]

    private static let people = [
        Person(id: 7, name: "Anna \"A\" Smith, Esq.", email: "anna@example.org"),
        Person(id: 12, name: "evil\u{1B}[2J\nname", email: nil),
    ]

    private func listed(_ format: OutputFormat, _ people: [Person] = people, style: StreamStyle = .plain) throws
        -> String
    {
        let sink = MemorySink()
        let output = Output(
            format: format,
            style: style,
            sink: sink,
            messages: Messages(style: .plain, sink: MemorySink())
        )
        try output.list(people, Self.fields, whenEmpty: "nobody")
        return sink.text
    }

    @Test("Values from JSON keep their types; text that is not JSON is shown unchanged")
    func fromJSON() {
        #expect(
            OutputValue.json(#"{"n": 3, "x": 1.5, "ok": true, "none": null, "all": ["a", 1]}"#)
                == .object([
                    "n": .integer(3), "x": .number(1.5), "ok": .bool(true), "none": .null,
                    "all": .list([.text("a"), .integer(1)]),
                ])
        )
        #expect(OutputValue.json("no JSON") == .text("no JSON"))
    }

    @Test func table() throws {
        #expect(
            try listed(.table)
                == """
                ID  NAME                  E-MAIL
                 7  Anna "A" Smith, Esq.  a***@e***.org
                12  evil\\u{1b}[2J\\nname

                """
        )
    }

    @Test("A row is fitted to the width of the terminal")
    func narrow() throws {
        let text = try listed(.table, style: StreamStyle(isTerminal: true, width: 34, colour: false))
        #expect(text.split(separator: "\n").allSatisfy { DisplayWidth.of($0) <= 34 })
        #expect(text.contains("…"))
    }

    @Test func json() throws {
        let text = try listed(.json(fields: nil))
        #expect(
            text == #"""
                [
                {"email":"a***@e***.org","id":7,"is_even":false,"name":"Anna \"A\" Smith, Esq."},
                {"email":null,"id":12,"is_even":true,"name":"evil\u001b[2J\nname"}
                ]

                """#
        )
        #expect(try listed(.json(fields: nil), []) == "[]\n")
        #expect(try listed(.ndjson(fields: ["id"])) == "{\"id\":7}\n{\"id\":12}\n")
    }

    @Test("A selection of fields is checked before anything is done; afterwards an unknown field is null")
    func unknownField() throws {
        let names = Self.fields.map(\.name)
        let selection = OutputFormat.json(fields: ["nmae"])
        let error = #expect(throws: UnknownField.self) { try selection.checkSelection(of: names) }
        #expect(error?.description.contains("Did you mean name?") == true)
        #expect(try listed(.ndjson(fields: ["nmae", "id"])) == "{\"id\":7,\"nmae\":null}\n{\"id\":12,\"nmae\":null}\n")
        let none = #expect(throws: UnknownField.self) { try selection.checkSelection(of: []) }
        #expect(none?.description == "there is no field \"nmae\": the command prints none")
        let sections = ["auth.email"]
        try OutputFormat.csv(fields: ["auth.email", "name"]).checkSelection(of: names, and: sections)
        let misspelt = #expect(throws: UnknownField.self) {
            try OutputFormat.tsv(fields: ["auth.emial"]).checkSelection(of: names, and: sections)
        }
        #expect(misspelt?.description.contains("Did you mean auth.email?") == true)
        #expect(throws: UnknownField.self) {
            try OutputFormat.json(fields: ["auth.email"]).checkSelection(of: names, and: sections)
        }
        try OutputFormat.table.checkSelection(of: [])
        try OutputFormat.json(fields: nil).checkSelection(of: [])
    }

    @Test func separated() throws {
        #expect(
            try listed(.csv(fields: nil)) == """
                id,name,email,is_even
                7,"Anna ""A"" Smith, Esq.",a***@e***.org,false
                12,"evil\u{1B}[2J\nname",,true

                """
        )
        #expect(
            try listed(.tsv(fields: nil)).hasPrefix(
                "7\tAnna \"A\" Smith, Esq.\ta***@e***.org\tfalse\n12\tevil\\u{1b}[2J\\nname\t"
            )
        )
    }

    @Test("Separated output also shows the selected fields, in the order of the selection")
    func selected() throws {
        #expect(try listed(.csv(fields: ["is_even", "id"])) == "is_even,id\nfalse,7\ntrue,12\n")
        #expect(try listed(.tsv(fields: ["email", "id"])) == "a***@e***.org\t7\n\t12\n")
        #expect(try listed(.csv(fields: ["id"]), []) == "id\n")
        #expect(try listed(.tsv(fields: ["nmae", "id"])) == "\t7\n\t12\n")
    }

    @Test("Hostile text stays in its cell, is not a formula, and cannot control a terminal")
    func hostileCells() throws {
        let people = [
            Person(id: 1, name: "=1+1", email: "\u{1B}[2J@x.de"),
            Person(id: 2, name: "a\"\u{301},b", email: nil),
            Person(id: 3, name: "+491701234567", email: nil),
            Person(id: 4, name: "-2+3", email: nil),
            Person(id: 5, name: "\u{FF1D}1+1", email: nil),
            Person(id: 6, name: "\n=1+1", email: nil),
        ]
        #expect(
            try listed(.csv(fields: nil), people) == """
                id,name,email,is_even
                1,'=1+1,\u{1B}***@x***.de,false
                2,"a""\u{301},b",,true
                3,+491701234567,,false
                4,'-2+3,,true
                5,'\u{FF1D}1+1,,false
                6,"'
                =1+1",,true

                """
        )
        // Spreadsheets do not read TSV: scripts get its values unchanged.
        #expect(try listed(.tsv(fields: ["name"]), people).hasPrefix("=1+1\n"))
        let terminal = StreamStyle(isTerminal: true, width: 80, colour: false)
        #expect(try listed(.csv(fields: nil), people, style: terminal).contains("1,'=1+1,\\u{1b}***@x***.de,false"))
    }

    @Test("A long list is laid out by its first rows and loses nothing")
    func longList() throws {
        let many = (0..<1000).map { Person(id: $0, name: "n\($0)", email: nil) }
        #expect(try listed(.table, many).split(separator: "\n").count == 1001)
    }
}
