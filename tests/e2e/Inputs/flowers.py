"""Prints rows of flowers with a header.

usage: flowers.py COLUMN...    id, species, height or age, in the order wanted
"""

import sys

print(",".join(sys.argv[1:]))
for i in range(40):
    row = {"id": f"f{i}", "species": ["setosa", "versicolor", "virginica"][i * 7 % 3], "height": i * 5 % 11 / 10}
    row["age"] = "NA" if i % 10 == 3 else i % 4
    print(",".join(str(row[column]) for column in sys.argv[1:]))
