/// Connection keywords with their values, as libpq takes them: if a keyword has two values, the later one counts.
package typealias ConnectionKeywords = [(keyword: String, value: String)]
