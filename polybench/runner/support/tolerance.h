// How far each element of a result may be from the sequential C's.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

namespace bench {

// A part that all elements have, and 8 times the rounding error measured around the element: the largest one in its row,
// column or plane, whichever is least. Where some columns are noise, the others are compared as strictly as ever.
class Tolerance {
public:
    // `extents` may be empty: then errors are noted for the array as a whole.
    explicit Tolerance(double everywhere = 0, std::vector<long long> extents = {})
        : base(everywhere), shape(std::move(extents))
    {
        long long count = 1;
        for (long long extent : shape) count *= extent;
        for (long long extent : shape)
            worst.emplace_back(extent > 0 && count / extent >= fewest ? extent : 0, 0.0);
    }

    void note(long long position, double error)
    {
        largest = std::max(largest, error);
        for (std::size_t d = shape.size(); d-- > 0; position /= shape[d])
            if (!worst[d].empty()) {
                double &noted = worst[d][position % shape[d]];
                noted = std::max(noted, error);
            }
    }

    double at(long long position) const
    {
        double least = largest;
        if (least > 0)
            for (std::size_t d = shape.size(); d-- > 0; position /= shape[d])
                if (!worst[d].empty()) least = std::min(least, worst[d][position % shape[d]]);
        return base + 8 * least;
    }

    double most() const { return base + 8 * largest; }

private:
    static constexpr long long fewest = 16;  // of elements, to say what errors are usual among them

    double base, largest = 0;
    std::vector<long long> shape;
    std::vector<std::vector<double>> worst;  // by dimension and index; empty where an index has too few elements
};

}  // namespace bench
