@testable import AccountLifecycle

extension ForeignKey {
    /// Keys by which each of some tables refers to accounts and to all tables before it, or to all others.
    static func from(_ tables: [TableName], toAllOthers: Bool = false) -> [ForeignKey] {
        tables.indices.flatMap { index in
            let others = toAllOthers ? tables.filter { $0 != tables[index] } : Array(tables.prefix(index))
            return ([TableName.users] + others).map { target in
                ForeignKey(
                    name: "\(tables[index].name)_\(target.name)",
                    table: tables[index],
                    columns: ["\(target.name)_id"],
                    target: target,
                    targetColumns: ["id"],
                    rule: .cascade
                )
            }
        }
    }
}
