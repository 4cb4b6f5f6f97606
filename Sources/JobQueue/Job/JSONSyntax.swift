/// Any JSON value, read to its last string and number and not kept: what no number type holds whole may still be JSON.
struct JSONSyntax: Decodable {
    /// - Throws: `DecodingError` for what is no JSON value, or a number that no `Double` comes near.
    init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if value.decodeNil() || (try? value.decode(Bool.self)) != nil || (try? value.decode(Double.self)) != nil
            || (try? value.decode(String.self)) != nil || (try? value.decode([JSONSyntax].self)) != nil
        {
            return
        }
        _ = try value.decode([String: JSONSyntax].self)
    }
}
