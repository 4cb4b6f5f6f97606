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

    @Test("What JSON says keeps its types; a text that is none is shown as it is")
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

    @Test("A row gives way to the width of the terminal")
    func narrow() throws {
        let text = try listed(.table, style: StreamStyle(isTerminal: true, width: 34, colour: false))
        #expect(text.split(separator: "\n").allSatisfy { DisplayWidth.of($0) <= 34 })
        #expect(text.contains("…"))
    }

    @Test("What a row is about is never cut; columns without room are left out, and that is told")
    func key() throws {
        let id = "00000000-0000-4000-8000-000000000001"
        let fields: [Field<String>] = [
            Field("id", "Id") { .text($0) }, Field("email", "E-mail") { _ in "anna@example.org" },
            Field("state", "State") { _ in "active" },
            Field("created", "Created") { _ in .date(Date(timeIntervalSince1970: 1_795_216_504)) },
            Field("held", "Held") { _ in false },
        ]
        func listed(_ width: Int, _ id: String = id) throws -> (screen: String, told: String) {
            let (sink, told) = (MemorySink(), MemorySink())
            let style = StreamStyle(isTerminal: true, width: width, colour: false)
            try Output(format: .table, style: style, sink: sink, messages: Messages(style: .plain, sink: told))
                .list([id], fields)
            #expect(sink.text.split(separator: "\n").allSatisfy { DisplayWidth.of($0) <= width }, "\(sink.text)")
            return (sink.text, told.text)
        }
        let wide = try listed(120)
        #expect(wide.screen.contains("2026-11-20 23:15:04Z") && wide.told.isEmpty)
        let usual = try listed(80)
        // A date is whole or left out, as an id is: what is left of one is another.
        #expect(usual.screen.contains("\(id)  anna@exampl…  active  2026-11-20 23:15:04Z\n"), "\(usual)")
        #expect(usual.told.hasPrefix("No room for HELD: "), "\(usual)")
        let narrow = try listed(60)
        #expect(narrow.screen.contains(id) && narrow.screen.contains("active  no"), "\(narrow)")
        #expect(narrow.told.hasPrefix("No room for CREATED: "), "\(narrow)")
        // A long name leaves room for what is said of it.
        #expect(
            try listed(40, "a name as long as many an id, or more").screen.contains(
                "a name as long as many an…  anna@ex"
            )
        )
        let least = try listed(40)
        #expect(least.screen == "ID\n\(id)\n", "\(least)")
        #expect(least.told.hasPrefix("No room for E-MAIL, STATE, CREATED and HELD: "), "\(least)")
    }

    @Test("Columns that say nothing of any row give way first, where all rows are known")
    func emptyColumns() throws {
        let fields: [Field<Int>] = [
            Field("id", "Id") { .integer($0) }, Field("reason", "Reason") { _ in nil },
            Field("at", "At") { _ in "2026-11-20 23:15:04Z" }, Field("error", "Last error") { _ in nil },
        ]
        let (sink, told) = (MemorySink(), MemorySink())
        func output(_ width: Int) -> Output {
            let style = StreamStyle(isTerminal: true, width: width, colour: false)
            return Output(format: .table, style: style, sink: sink, messages: Messages(style: .plain, sink: told))
        }
        // Roomy, with room for one of them, and for neither.
        for width in [50, 35, 24] { try output(width).list([7], fields) }
        let columns = ["Id", "Nothing", "At"].map { TableColumn($0) }
        let sheet = Sheet([.init("one", .table(columns, rows: [[1, nil, "now"]], names: []))])
        try output(12).show(sheet)
        #expect(
            sink.text == """
                ID  REASON  AT                    LAST ERROR
                7           2026-11-20 23:15:04Z
                ID  REASON  AT
                7           2026-11-20 23:15:04Z
                ID  AT
                7   2026-11-20 23:15:04Z
                ID  AT
                1   now

                """
        )
        #expect(told.text.isEmpty, "\(told.text)")
        // Of a list that grows nobody knows what comes.
        var list = output(24).startList(fields)
        try list.append(7)
        try list.flush()
        #expect(told.text.hasPrefix("No room for "), "\(told.text)")
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

    @Test("A later number, and a later first cell, is whole where others give way: its row is pushed to the right")
    func laterCells() throws {
        let style = StreamStyle(isTerminal: true, width: 30, colour: false)
        let fields: [Field<Int>] = [
            Field("id", "Id", alignment: .right) { .integer($0) },
            Field("number", "No", alignment: .right) { .integer($0) },
            Field("name", "Name") { .text("a name of some length, \($0)") },
        ]
        let sink = MemorySink()
        let output = Output(
            format: .table,
            style: style,
            sink: sink,
            messages: Messages(style: .plain, sink: MemorySink())
        )
        var list = output.startList(fields)
        try list.append(1)
        // As a watch does after each look.
        try list.flush()
        try list.append(12_345_678)
        try list.finish()
        #expect(
            sink.text == """
                ID  NO  NAME
                 1   1  a name of some length…
                12345678  12345678  a name of some length…

                """
        )
    }

    @Test("A selection is checked before anything is done; afterwards what there is not is nothing")
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

    @Test("Fields are selected between separators too, in the order of the selection")
    func selected() throws {
        #expect(try listed(.csv(fields: ["is_even", "id"])) == "is_even,id\nfalse,7\ntrue,12\n")
        #expect(try listed(.tsv(fields: ["email", "id"])) == "a***@e***.org\t7\n\t12\n")
        #expect(try listed(.csv(fields: ["id"]), []) == "id\n")
        #expect(try listed(.tsv(fields: ["nmae", "id"])) == "\t7\n\t12\n")
    }

    @Test("A thing is one row whose cells do not depend on what there is to show")
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

    @Test("Hostile text stays in its cell, is no formula, and does nothing to a terminal")
    func hostileCells() throws {
        let people = [
            Person(id: 1, name: "=1+1", email: "\u{1B}[2J@x.de"),
            Person(id: 2, name: "a\"\u{301},b", email: nil),
            Person(id: 3, name: "+491701234567", email: nil),
            Person(id: 4, name: "-2+3", email: nil),
        ]
        #expect(
            try listed(.csv(fields: nil), people) == """
                id,name,email,is_even
                1,'=1+1,\u{1B}***@x***.de,false
                2,"a""\u{301},b",,true
                3,+491701234567,,false
                4,'-2+3,,true

                """
        )
        // No spreadsheet reads the other form: what scripts take from it is as it is.
        #expect(try listed(.tsv(fields: ["name"]), people).hasPrefix("=1+1\n"))
        let terminal = StreamStyle(isTerminal: true, width: 80, colour: false)
        #expect(try listed(.csv(fields: nil), people, style: terminal).contains("1,'=1+1,\\u{1b}***@x***.de,false"))
    }

    @Test("A long list is laid out by its first rows and loses nothing")
    func longList() throws {
        let many = (0..<1000).map { Person(id: $0, name: "n\($0)", email: nil) }
        #expect(try listed(.table, many).split(separator: "\n").count == 1001)
    }

    @Test func sheet() throws {
        let sheet = Sheet([
            .init(
                .facts([
                    .init("id", "Id", "u1"),
                    .init("email", "E-mail", .personal("bob@x.de", .email)),
                    .init("deleted_at", "Deleted", nil),
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
                == #"{"deleted_at":null,"email":"bob@x.de","id":"u1","steps":[{"name":"lock","state":"done"}]}"# + "\n"
        )
    }

    @Test("Moments are those of the formatter, whatever the year, at the edges of seconds, days and years too")
    func moments() {
        let style = Date.ISO8601FormatStyle(dateTimeSeparator: .space)
        let edges: [Double] = [
            -62_135_596_800, -12_219_292_800, -1, -0.001, 0, 951_782_399.999_999_9, 951_782_400, 951_868_799,
            1_709_164_800,
            4_107_542_399, 4_107_542_400, 253_402_300_799, 253_402_300_799.999, 253_402_300_800,
        ]
        let random = (0..<2000).map { _ in Double.random(in: -3e9...253_402_300_800) }
        for seconds in edges + random {
            let date = Date(timeIntervalSince1970: seconds)
            // However close a moment is to the next second, it lies before that.
            let last = Date(timeIntervalSinceReferenceDate: date.timeIntervalSinceReferenceDate.rounded().nextDown)
            for date in [date, last] { #expect(Wording.moment(date) == date.formatted(style)) }
        }
    }

    @Test func wording() throws {
        let date = Date(timeIntervalSince1970: 1_795_216_504.12)
        #expect(Wording.rfc3339(date) == "2026-11-20T23:15:04.120Z")
        #expect(Wording.moment(date) == "2026-11-20 23:15:04Z")
        #expect(Wording.relative(date.addingTimeInterval(-200), to: date) == "3 min 20 s ago")
        #expect(Wording.length(.seconds(90_000)) == "1 d 1 h")
        #expect(Wording.length(.milliseconds(20)) == "20 ms")
        #expect(Wording.size(999) == "999 B")
        #expect(Wording.size(999_960) == "1.0 MB")
        #expect(Wording.size(1_250_000) == "1.3 MB")
        #expect(Wording.list(["a", "b", "c"]) == "a, b and c")
    }

    @Test(arguments: [
        (PersonalData("john@example.org", .email), "j***@e***.org"),
        (PersonalData("no-at-sign", .email), "n***"),
        (PersonalData("+4915112345667", .phone), "***67"),
        (PersonalData("001234.abcdef0123456789.0123", .identifier), "001234***"),
        (PersonalData("Anna", .name), "A***"),
        (PersonalData("", .email), ""),
    ])
    func masking(_ data: PersonalData, _ expected: String) {
        #expect(data.masked == expected)
        #expect("\(data)" == expected)
        #expect(String(reflecting: data) == expected)
    }
}
