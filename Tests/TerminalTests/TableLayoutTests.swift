import Foundation
import Terminal
import Testing

@Suite("Tables on a terminal without room for all columns")
struct TableLayoutTests {
    @Test("A row's id is never cut; columns without room are left out, and a message says so")
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
        // Dates and ids are shown whole or left out: a truncated one would read as another date or id.
        #expect(usual.screen.contains("\(id)  anna@exampl…  active  2026-11-20 23:15:04Z\n"), "\(usual)")
        #expect(usual.told.hasPrefix("No room for HELD: "), "\(usual)")
        let narrow = try listed(60)
        #expect(narrow.screen.contains(id) && narrow.screen.contains("active  no"), "\(narrow)")
        #expect(narrow.told.hasPrefix("No room for CREATED: "), "\(narrow)")
        // A long name is truncated to leave room for the columns about it.
        #expect(
            try listed(40, "a name as long as many an id, or more").screen.contains(
                "a name as long as many an…  anna@ex"
            )
        )
        let least = try listed(40)
        #expect(least.screen == "ID\n\(id)\n", "\(least)")
        #expect(least.told.hasPrefix("No room for E-MAIL, STATE, CREATED and HELD: "), "\(least)")
    }

    @Test("Columns that are empty in every row give way first, if all rows are known")
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
        // Widths with room for both empty columns, for one of them and for neither.
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
        // In a list that still grows, later rows are not known.
        var list = output(24).startList(fields)
        try list.append(7)
        try list.flush()
        #expect(told.text.hasPrefix("No room for "), "\(told.text)")
    }

    @Test("On the screen of one item no cell is cut: a long one continues below, broken at blanks where it has any")
    func wrappedCells() throws {
        let columns = ["Step", "Runs", "Facts"].map { TableColumn($0) }
        let rows: [[OutputValue]] = [
            ["verify", 1, "columns=359 identifiers=3 unreadable=private.a_table_with_a_long_name"],
            ["receipt", 12, "李小龙李小龙李小龙李小龙"], ["settle", 1, nil],
        ]
        let sink = MemorySink()
        let style = StreamStyle(isTerminal: true, width: 32, colour: false)
        try Output(format: .table, style: style, sink: sink, messages: Messages(style: .plain, sink: MemorySink()))
            .show(Sheet([.init("steps", .table(columns, rows: rows, names: ["step", "runs", "facts"]))]))
        #expect(
            sink.text == """
                STEP     RUNS  FACTS
                verify   1     columns=359
                               identifiers=3
                               unreadable=priv
                               ate.a_table_wit
                               h_a_long_name
                receipt  12    李小龙李小龙李
                               小龙李小龙
                settle   1

                """
        )
    }

    @Test("A state is shown in full or not at all: the start of one is that of several")
    func wholeState() throws {
        let fields: [Field<String>] = [
            Field("id", "Id") { _ in 7 }, Field("email", "E-mail") { _ in "anna@example.org" },
            Field("state", "State", isWhole: true) { .text($0) },
        ]
        func listed(_ width: Int) throws -> String {
            let sink = MemorySink()
            let style = StreamStyle(isTerminal: true, width: width, colour: false)
            try Output(format: .table, style: style, sink: sink, messages: Messages(style: .plain, sink: MemorySink()))
                .list(["deletion_grace"], fields)
            return sink.text
        }
        #expect(try listed(30).hasSuffix("7   anna@exam…  deletion_grace\n"))
        #expect(try listed(24).hasSuffix("7   anna@example.org\n"))
    }

    @Test("A column that says nothing when it is cut is left out instead, and a message says so")
    func leastWidth() throws {
        let fields: [Field<Int>] = [
            Field("id", "Id") { .integer($0) }, Field("why", "Why") { _ in "sealing_key_missing" },
            Field("end", "Ends by", least: 12) { _ in "adding the named sealing key to its file" },
            Field("user", "User") { _ in "anna" },
        ]
        func listed(_ width: Int) throws -> (row: Substring, told: String) {
            let (sink, told) = (MemorySink(), MemorySink())
            let style = StreamStyle(isTerminal: true, width: width, colour: false)
            try Output(format: .table, style: style, sink: sink, messages: Messages(style: .plain, sink: told))
                .list([7], fields)
            return (try #require(sink.text.split(separator: "\n").last), told.text)
        }
        let wide = try listed(80)
        #expect(wide.row == "7   sealing_key_missing  adding the named sealing key to its file  anna", "\(wide)")
        let enough = try listed(44)
        #expect(enough.row.contains("adding the") && enough.told.isEmpty, "\(enough)")
        // With that width it comes before the columns to its right.
        let longer = try listed(31)
        #expect(longer.told.hasPrefix("No room for USER: "), "\(longer)")
        // The others then have the room, and none of them is cut.
        let narrow = try listed(34)
        #expect(narrow.row == "7   sealing_key_missing  anna", "\(narrow)")
        #expect(narrow.told.hasPrefix("No room for ENDS BY: "), "\(narrow)")
    }

    @Test("A list that grows keeps the width that a column's later rows need")
    func keptWidth() throws {
        let fields: [Field<String>] = [Field("state", "State", width: 8) { .text($0) }, Field("n", "N") { _ in 1 }]
        let sink = MemorySink()
        let messages = Messages(style: .plain, sink: MemorySink())
        var list = Output(format: .table, style: .plain, sink: sink, messages: messages).startGrowingList(fields)
        try list.append("grace")
        try list.flush()
        try list.append("verified")
        try list.finish()
        #expect(sink.text == "STATE     N\ngrace     1\nverified  1\n")
    }

    @Test("Width for later rows is taken from no column that needs it now")
    func noRoomToKeep() throws {
        let why = "sealing_key_missing"
        let fields: [Field<String>] = [
            Field("state", "State", width: 8) { .text($0) }, Field("why", "Why") { _ in .text(why) },
        ]
        let sink = MemorySink()
        let style = StreamStyle(isTerminal: true, width: 27, colour: false)
        let messages = Messages(style: .plain, sink: MemorySink())
        var list = Output(format: .table, style: style, sink: sink, messages: messages).startGrowingList(fields)
        try list.append("grace")
        try list.flush()
        try list.append("verified")
        try list.finish()
        #expect(sink.text == "STATE   WHY\ngrace   \(why)\nverified  \(why)\n")
    }

    @Test("In later rows, numbers and first cells are not cut like others: their row is pushed to the right")
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
        // A watch flushes after each poll.
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
}
