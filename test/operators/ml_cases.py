WITHOUT_REFERENCE = set()
def cases():
    return []
