/// Keywords of a connection with their values, as libpq takes them: of two values for a keyword the later one counts.
package typealias ConnectionKeywords = [(keyword: String, value: String)]
