/// Any JSON value, parsed completely but not kept: a number that no number type holds exactly may still be valid JSON.
struct JSONSyntax: Decodable {
    /// - Throws: `DecodingError` for anything that is not JSON, or a number out of the range of `Double`.
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
