/// Object ids of the types this driver reads and writes, and of some that messages name.
///
/// Fixed forever by PostgreSQL's `pg_type.dat`.
enum TypeID {
    static let unspecified: UInt32 = 0
    static let bool: UInt32 = 16
    static let bytea: UInt32 = 17
    static let name: UInt32 = 19
    static let int8: UInt32 = 20
    static let int2: UInt32 = 21
    static let int4: UInt32 = 23
    static let text: UInt32 = 25
    static let oid: UInt32 = 26
    static let json: UInt32 = 114
    static let float4: UInt32 = 700
    static let float8: UInt32 = 701
    static let unknown: UInt32 = 705
    static let boolArray: UInt32 = 1000
    static let int2Array: UInt32 = 1005
    static let int4Array: UInt32 = 1007
    static let textArray: UInt32 = 1009
    static let int8Array: UInt32 = 1016
    static let float8Array: UInt32 = 1022
    static let bpchar: UInt32 = 1042
    static let varchar: UInt32 = 1043
    static let date: UInt32 = 1082
    static let timestamp: UInt32 = 1114
    static let timestamptz: UInt32 = 1184
    static let timestamptzArray: UInt32 = 1185
    static let numeric: UInt32 = 1700
    static let uuid: UInt32 = 2950
    static let uuidArray: UInt32 = 2951
    static let jsonb: UInt32 = 3802

    /// The name of a type, for messages.
    static func name(_ id: UInt32) -> String {
        switch id {
        case bool: "boolean"
        case bytea: "bytea"
        case name: "name"
        case int8: "bigint"
        case int2: "smallint"
        case int4: "integer"
        case text: "text"
        case oid: "oid"
        case json: "json"
        case float4: "real"
        case float8: "double precision"
        case bpchar: "char(n)"
        case varchar: "varchar"
        case date: "date"
        case timestamp: "timestamp without time zone"
        case timestamptz: "timestamp with time zone"
        case numeric: "numeric"
        case uuid: "uuid"
        case jsonb: "jsonb"
        default: "type \(id)"
        }
    }
}
